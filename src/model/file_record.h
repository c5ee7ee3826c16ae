// The metadata of one file. Immutable once it is in a State: readers hold a shared pointer to it and need no lock.
//
// A file has committed extents. A framed file also has a tail of frames in log zones:
//
//   file bytes   0 ............ E ............ W1 ...... W2 .......
//                 extents        window 1      window 2   open window (not yet sealed)
//
// A window selects the frames of `epoch` with a sequence in [first_sequence, last_sequence]; they hold the file's bytes up
// to `end`. Frames belong to the open window if they have the volume's current epoch and a sequence of at least
// `next_sequence`. All other frames of the file are dead forever.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/crc32c.h"
#include "model/lifetime.h"
#include "model/units.h"

namespace zenfs {

enum class FileShape : std::uint8_t {
  kPlain = 0,   // extents only
  kFramed = 1,  // extents, then frames
};

// `length` bytes of a file from `file_offset`, at `place` on the device. Invariants: file_offset and place are multiples of
// the block size; an extent is in one zone; length may be any number of bytes, because the last block is padded.
//
// `crc` is the CRC-32C of the file bytes, without padding, as the caller passed them to ZenFS. It is unknown for files
// written by a ZenFS without checksums, and for an extent that was cut and could not be read.
struct Extent {
  std::uint64_t file_offset = 0;
  DeviceOffset place;
  std::uint64_t length = 0;
  KnownCrc crc = std::nullopt;

  std::uint64_t end() const { return file_offset + length; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct LogWindow {
  std::uint64_t epoch = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  std::uint64_t end = 0;  // file offset after the last byte of this window

  friend bool operator==(const LogWindow&, const LogWindow&) = default;
};

struct FileRecord {
  FileId id;
  FileShape shape = FileShape::kPlain;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t size = 0;           // bytes in extents and windows, without the open window
  std::uint64_t mtime_seconds = 0;  // since 1970
  std::uint32_t links = 0;          // number of names
  std::vector<Extent> extents;      // by file_offset, without gaps, from 0
  std::vector<LogWindow> windows;   // framed: in file order
  std::uint64_t next_sequence = 1;  // framed: first sequence of the open window

  std::uint64_t ExtentsEnd() const { return extents.empty() ? 0 : extents.back().end(); }
  // Replaces the windows. Those without bytes are left out: extents that are added later would lie behind them.
  void SetWindows(const std::vector<LogWindow>& sealed) {
    windows.clear();
    std::uint64_t end = ExtentsEnd();
    for (const LogWindow& window : sealed) {
      if (window.end != end) windows.push_back(window);
      end = window.end;
    }
  }
  // Index of the extent that contains `offset`, or extents.size() if none does. O(log n).
  std::size_t FindExtent(std::uint64_t offset) const {
    const auto behind = std::ranges::upper_bound(extents, offset, {}, &Extent::file_offset);
    if (behind == extents.begin()) return extents.size();
    const auto candidate = behind - 1;
    return offset < candidate->end() ? static_cast<std::size_t>(candidate - extents.begin()) : extents.size();
  }

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

}  // namespace zenfs
