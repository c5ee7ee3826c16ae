// Reads allocated log zones at mount and finds the frames in them. Never trusts what it finds: a frame counts
// only if its CRC fits the zone's allocation; anything else, unreadable blocks included, is passed over
// block by block.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/uuid.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "model/edit.h"

namespace zenfs {

struct ScannedFrame {
  std::uint64_t owner = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t stable_sequence = 0;
  std::uint16_t time = 0;    // FrameHeader::time
  std::uint64_t length = 0;  // payload
  DeviceOffset payload;
  std::uint64_t device_bytes = 0;
  ZoneId zone;
};

// Whether a writer can have made it. Numbers begin with 1 and say what was durable before.
[[nodiscard]] bool IsPossible(const ScannedFrame& frame);
// Whether something may be concluded from it that nothing else says, and counted on from.
[[nodiscard]] bool IsCredible(const ScannedFrame& frame);

// Log-data frames of `zone`, in the order of their places, handed to `found`; others, which earlier versions wrote, are
// passed over. `info` is the device's report of the zone. There are no errors: a zone that can't be read has no
// frames. The scan begins at byte `from` of the zone, and returns the byte behind the last frame it found (or
// `from`): who calls again with that, once the zone has grown, finds each frame once. `passed_over`, if given, gets the
// blocks that are no frame, with the byte in the zone, and what they look like: of a damaged frame, the header as read.
std::uint64_t ScanLogZone(ZonedDevice& device, const Uuid& volume, const LogZone& zone, const ZoneInfo& info,
                          const std::function<void(const ScannedFrame&)>& found, std::uint64_t from = 0,
                          const std::function<void(std::uint64_t, const ParsedFrame&)>& passed_over = {});

}  // namespace zenfs
