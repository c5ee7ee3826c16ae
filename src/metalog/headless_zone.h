// A metadata zone that has been written to and whose log header can't be read: of a generation that nobody can name.
//
// It may be what a log switch that was cut off left of its first write, and is nothing then. But nothing is written behind a
// header before the header is durable. So what stands behind it tells that the header was there once.
//
// Threads: functions on values, no state.
#pragma once

#include "device/zoned_device.h"
#include "metalog/metazones.h"

namespace zenfs {

enum class HeadlessZone {
  kNothing,       // all of it can be read, and is no commit that is missing elsewhere
  kUnreadable,    // blocks behind the header can't be read either: anything may have stood there
  kNewerCommits,  // a commit behind `sequence`, by its own account of a generation above `generation`
};

// Against the newest complete generation and its last commit. Checksums prove nothing here: they begin with the salt, which
// only the header has.
[[nodiscard]] HeadlessZone JudgeHeadlessZone(ZonedDevice& device, const ZoneInfo& info,
                                             std::uint64_t generation, std::uint64_t sequence);

}  // namespace zenfs
