// What the metadata zones looked like at a moment: their report, and which generation each belongs to. Two
// fingerprints that are the same prove that the log has not moved between them. Internal to metalog/, but for
// readers beside a writer, who hold a fingerprint against the device after each read (metalog/follower.h).
//
// A report alone can't prove that for ever: after enough log switches all write pointers may stand again where they
// stood. Until kReportSpan has passed since the fingerprint was taken there can't have been so many; from then on
// the log headers are read too, whose salts are random.
//
// Threads: functions on values, no state.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"

namespace zenfs {

struct LogFingerprint {
  static constexpr std::chrono::milliseconds kReportSpan{10};

  std::vector<ZoneInfo> zones;                  // the metadata zones, as the superblock lists them
  std::vector<std::optional<LogHeader>> heads;  // of the same zones; none: empty, or not readable
  SteadyTime taken;                             // before the first command
};

// Errors: those of a report. A header that can't be read is none.
[[nodiscard]] Result<LogFingerprint> TakeLogFingerprint(ZonedDevice& device, const Superblock& superblock);

// The same zones, write pointers and headers; when does not matter.
[[nodiscard]] bool SameLog(const LogFingerprint& a, const LogFingerprint& b);

struct LogCheck {
  bool moved = true;  // false proves that nothing was committed, and no metadata zone changed, since `then`
  // Not moved: `then` as if taken at this time, which is later if the headers were read for it.
  SteadyTime confirmed;
};
// Compares `then` with the device as it is when this is called.
[[nodiscard]] Result<LogCheck> CheckLog(ZonedDevice& device, const Superblock& superblock,
                                        const LogFingerprint& then);

}  // namespace zenfs
