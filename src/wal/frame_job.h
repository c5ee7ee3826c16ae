// A frame on its way into the log, before it is placed and after.
//
// Threads: values.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "format/frame.h"
#include "wal/frame_read.h"
#include "zone/zone_manager.h"

namespace zenfs {

// A frame of log data to write. `buffer` has room for the header (kFrameHeaderBytes), then the payload. The
// caller owns it and waits for FrameWriter.
struct FrameJob {
  std::uint64_t owner = 0;
  std::uint64_t sequence = 0;  // of the first part
  std::uint64_t file_offset = 0;
  std::uint64_t stable_sequence = 0;
  AlignedBuffer* buffer = nullptr;  // size() = kFrameHeaderBytes + payload
  std::uint64_t epoch = 0;          // 0: the epoch of this mount
  bool flush = false;               // flush the device's cache before the call returns
  std::uint64_t placed_before = 0;  // bytes at the front of the payload that are on the device already
  std::uint16_t time = 0;           // FrameHeader::time
  bool unsplit = false;             // must not be split; the frame has been in one zone before
};

// A frame, or part of one, on the device. Its pin keeps the zone from being reset.
struct PlacedFrame {
  std::uint64_t sequence = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t length = 0;        // payload
  DeviceOffset payload;            // place of its first byte
  std::uint64_t device_bytes = 0;  // with header and padding
  ZonePin pin;

  // The entry for the index of its file.
  Piece ToPiece() const {
    return {.file_offset = file_offset,
            .length = length,
            .place = payload,
            .sequence = sequence,
            .frame_bytes = device_bytes};
  }
};

}  // namespace zenfs
