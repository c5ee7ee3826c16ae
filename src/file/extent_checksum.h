// Checksums of extents that are cut.
#pragma once

#include <optional>
#include <span>

#include "device/zoned_device.h"
#include "model/file_record.h"

namespace zenfs {

// If a cut removes more bytes than this from an extent, nothing is read and the rest has no checksum. Otherwise a
// file that is deleted piece by piece would be read.
inline constexpr std::uint64_t kReadForCutMax = 256 << 10;

// Returns the checksum of the first `length` bytes of `extent`, 0 < length <= extent.length. It is calculated from the
// extent's checksum and the bytes behind the cut, which are read. So a scrub after the cut reports the same damage as
// before. Returns no checksum if the extent has none, if the cut removes more than kReadForCutMax bytes, or if the read
// fails.
//
// Do not call this under a lock. If the checksum of the removed bytes is known, call Crc32cFront instead.
[[nodiscard]] KnownCrc CrcOfFront(ZonedDevice& device, const Extent& extent, std::uint64_t length);

// Reads the extent and verifies its checksum. Returns true if it has none, false if the read fails.
[[nodiscard]] bool FitsChecksum(ZonedDevice& device, const Extent& extent);

// Returns the rest of the extent that a cut at file offset `end` divides, with the checksum of CrcOfFront. Returns
// nullopt if the cut divides no extent.
[[nodiscard]] std::optional<Extent> FrontOfDivided(ZonedDevice& device, std::span<const Extent> extents,
                                                   std::uint64_t end);

}  // namespace zenfs
