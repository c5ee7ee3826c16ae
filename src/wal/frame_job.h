// A frame on its way into the log, before it is placed and after.
//
// Threads: values.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "format/frame.h"
#include "wal/frame_index.h"
#include "zone/zone_manager.h"

namespace zenfs {

// A frame of log data to be placed. `buffer` holds room for the header at its front (kFrameHeaderBytes) and the payload
// behind it; it belongs to the caller, who waits for FrameWriter::Write.
struct FrameJob {
  std::uint64_t owner = 0;
  std::uint64_t sequence = 0;  // of the first part
  std::uint64_t file_offset = 0;
  std::uint64_t stable_sequence = 0;
  AlignedBuffer* buffer = nullptr;  // size() = kFrameHeaderBytes + payload
  std::uint64_t epoch = 0;          // 0: that of this mount
  bool flush = false;               // the device's cache is flushed before Write returns
  std::uint64_t placed_before = 0;  // so many bytes of the payload, from its front, are on the device already
  std::uint16_t time = 0;           // FrameHeader::time
  bool unsplit = false;             // goes into one zone as a whole; it must have stood in one before
};

// A frame, or part of one, that is on the device. Keeps its zone from being reset.
struct PlacedFrame {
  std::uint64_t sequence = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t length = 0;        // payload
  DeviceOffset payload;            // where it begins
  std::uint64_t device_bytes = 0;  // with header and padding
  ZonePin pin;

  // As its file's index holds it.
  Piece ToPiece() const {
    return {.file_offset = file_offset,
            .length = length,
            .place = payload,
            .sequence = sequence,
            .frame_bytes = device_bytes};
  }
};

}  // namespace zenfs
