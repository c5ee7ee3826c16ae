// Judges a metadata zone that was written but has no readable log header, so its generation is unknown.
//
// If a log switch was cut off during its first write, the zone holds nothing of value. But nothing is written after a
// header before the header is durable. So blocks after the header's place prove that the header was durable once.
//
// Threads: functions on values, no state.
#pragma once

#include "device/zoned_device.h"
#include "metalog/metazones.h"

namespace zenfs {

enum class HeadlessZone {
  kNothing,       // everything after the header can be read and no newer commit is found
  kUnreadable,    // blocks after the header can't be read either and may have held commits
  kNewerCommits,  // a frame claims a commit after `sequence` in a generation above `generation`
};

// `generation`, `sequence`: the newest complete generation and its last commit. Frames cannot be verified here: their CRC
// is seeded with the salt, which only the header has.
[[nodiscard]] HeadlessZone JudgeHeadlessZone(ZonedDevice& device, const ZoneInfo& info,
                                             std::uint64_t generation, std::uint64_t sequence);

}  // namespace zenfs
