// Verification of extents whose bytes are read to be written again or cut.
//
// An extent has one checksum for all of its bytes, so verifying any of them reads all of them. If they do not match it,
// nobody can say which of them are wrong. So such an extent is neither copied nor divided: a part of it with a checksum of
// its own would hide the damage, or claim it where it is not.
//
// Threads: functions on values, no state. They read the device: do not call them under a lock that a reader needs.
// Errors: those of the read; kCorruption if the bytes do not match their checksum. Both name the zone and the byte.
#pragma once

#include <optional>
#include <span>

#include "base/status.h"
#include "device/zoned_device.h"
#include "model/file_record.h"

namespace zenfs {

// An extent that is longer than kLongExtent is not read if a cut removes more than kShortCut bytes of it; the rest then has
// no checksum. Otherwise RocksDB's deletion of large files in pieces of 64 MiB would read them again and again.
inline constexpr std::uint64_t kLongExtent = 64 << 20;
inline constexpr std::uint64_t kShortCut = 256 << 10;

// Verifies the whole extent, and copies its bytes from file offset `from` on to `into`, which has their size. Without a
// checksum reads only these bytes.
[[nodiscard]] Status ReadVerified(ZonedDevice& device, const Extent& extent, std::uint64_t from,
                                  ByteSpan into);

// Returns true if the extent matches its checksum or has none, false if the read fails.
[[nodiscard]] bool FitsChecksum(ZonedDevice& device, const Extent& extent);

// Returns the rest of the extent that a cut at file offset `end` divides, after verifying the extent. Returns nullopt if the
// cut divides no extent.
[[nodiscard]] Result<std::optional<Extent>> FrontOfDivided(ZonedDevice& device,
                                                           std::span<const Extent> extents,
                                                           std::uint64_t end);

// The error of an extent whose bytes do not match its checksum.
[[nodiscard]] Error ExtentDamage(const ZonedDevice& device, const Extent& extent);

}  // namespace zenfs
