// The zone report and the log headers of the metadata zones at one moment. Equal fingerprints prove that the log has not
// changed between them. Internal to metalog/, except for readers beside a writer: they compare their fingerprint with the
// device after each read (metalog/follower.h).
//
// Equal zone reports alone are no proof, because after enough log switches all write pointers may have their old values
// again. That takes longer than kReportSpan. If the fingerprint is older, the log headers are compared too; their salts
// are random.
//
// Threads: functions on values, no state.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"

namespace zenfs {

struct LogFingerprint {
  static constexpr std::chrono::milliseconds kReportSpan{10};

  // The metadata zones in the order of the superblock; then those that headers of these zones name besides, ascending. Of
  // these, some may have been given back.
  std::vector<ZoneInfo> zones;
  std::vector<std::optional<LogHeader>> heads;  // of the same zones; none: no valid header
  // The highest generation whose headers name the zone.
  static constexpr std::uint64_t kBySuperblock = UINT64_MAX;
  std::vector<std::uint64_t> named_by;
  SteadyTime taken;  // before the first command

  std::vector<ZoneId> zone_ids() const;  // of `zones`
  // True if zones[i] may hold something else than the metadata log, because the log is at this generation.
  bool WasGivenBack(std::size_t i, std::uint64_t generation) const {
    return named_by[i] < generation && !heads[i];
  }
  // The zones that the headers of a generation name besides those of the superblock: the added metadata zones, if it is the
  // current one.
  std::vector<ZoneId> AddedBy(std::uint64_t generation, std::uint64_t salt) const;
};

// Errors: those of a report. An unreadable header is not an error.
[[nodiscard]] Result<LogFingerprint> TakeLogFingerprint(ZonedDevice& device, const Superblock& superblock);

// The zones of the superblock, then `added`.
[[nodiscard]] std::vector<ZoneId> WithAdded(const Superblock& superblock, std::span<const ZoneId> added);

// The metadata zones: those of the superblock, and those that the headers of the current generation name. Replays the log if
// headers name any. If the log is damaged, those that may belong to it.
[[nodiscard]] std::vector<ZoneId> MetadataZones(ZonedDevice& device, const Superblock& superblock);

// Compares zones, write pointers and headers, but not the time.
[[nodiscard]] bool SameLog(const LogFingerprint& a, const LogFingerprint& b);

struct LogCheck {
  bool moved = true;  // false proves that since `then` nothing was committed and no metadata zone changed
  // If not moved: `then` is still valid at this time. Later than `then.taken` if the headers were compared.
  SteadyTime confirmed;
};
// Compares `then` with the device at the time of the call.
[[nodiscard]] Result<LogCheck> CheckLog(ZonedDevice& device, const Superblock& superblock,
                                        const LogFingerprint& then);

}  // namespace zenfs
