// Finds the frames in allocated log zones. A frame counts only if its CRC fits the allocation of the zone.
// All other blocks, including unreadable ones, are skipped one by one.
//
// Threads: functions on values, no state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  bool in_sync_block = false;  // its writer may replace it (wal/sync_area.h)
};

// Bytes behind the write pointer of a log zone that may hold frames: 0 unless it is a sync zone (wal/sync_area.h). The mark in the
// metadata decides. The report decides too, for metadata that a repair has rebuilt without the mark.
[[nodiscard]] std::uint64_t SyncBytes(const Geometry& geometry, const LogZone& zone, const ZoneInfo& info);
// kNotSupported if a sync zone may hold frames that this device cannot read.
[[nodiscard]] Status CheckSyncZonesReadable(const ZonedDevice& device,
                                            const std::map<ZoneId, LogZone>& zones);

// True if a writer can have made the frame: its sequence is not 0, its stable_sequence is lower, and no
// number exceeds the limit of the format.
[[nodiscard]] bool IsPossible(const ScannedFrame& frame);
// True if the numbers of the frame are also far below that limit. Only then may conclusions rest on this
// frame alone, or new numbers continue from its numbers.
[[nodiscard]] bool IsCredible(const ScannedFrame& frame);

// Passes the log-data frames of `zone` to `found`, in the order of their places; those in sync blocks too. Frames of other kinds,
// from earlier versions, are skipped. `info` is the device's report of the zone. There are no errors: a
// zone that cannot be read has no frames. The scan begins at byte `from` of the zone and returns the end of
// the last frame found (or `from`). A caller that passes this value to the next scan, when the zone has
// grown, finds each frame once. `passed_over`, if given, gets each block that is not a frame: its byte in
// the zone and the result of the parser, which has the header as read if the frame is damaged. Of many known zeros
// (ZonedDevice::KnownZeros) it gets only the first block.
std::uint64_t ScanLogZone(ZonedDevice& device, const Uuid& volume, const LogZone& zone, const ZoneInfo& info,
                          const std::function<void(const ScannedFrame&)>& found, std::uint64_t from = 0,
                          const std::function<void(std::uint64_t, const ParsedFrame&)>& passed_over = {});

}  // namespace zenfs
