// What the metadata log knows of one file. An immutable value once it is in a State: readers hold a shared
// pointer to it and take no lock.
//
// A file is committed extents plus, for a framed file, a tail of frames in log zones:
//
//   file bytes   0 ............ E ............ W1 ...... W2 .......
//                 extents        window 1      window 2   open window (not yet sealed)
//
// Windows say which frames belong to the file: those of `epoch` with a sequence in [first, last], holding the
// bytes up to `end`. Frames behind the last window belong to the open window if their epoch is the volume's
// current one and their sequence is at least `next_sequence`. All other frames of this owner are dead for
// ever (design: "Frames must not come back to life").
#pragma once

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

// `length` file bytes from `file_offset` stand at `place`. Invariants: file_offset and place are multiples of
// the block size; an extent never crosses a zone; length need not be a multiple (its last block is padded).
//
// `crc` is the CRC-32C of the file bytes, without padding, as they were when they were handed to ZenFS. Not known is
// legal: of files that a ZenFS without checksums wrote, and of an extent that was cut where it could not be read.
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
  std::uint64_t end = 0;  // file offset behind the last byte of this window

  friend bool operator==(const LogWindow&, const LogWindow&) = default;
};

struct FileRecord {
  FileId id;
  FileShape shape = FileShape::kPlain;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t size = 0;           // bytes in extents and windows; a framed file's open window comes on top
  std::uint64_t mtime_seconds = 0;  // since 1970
  std::uint32_t links = 0;          // names that point here
  std::vector<Extent> extents;      // by file_offset, without gaps, from 0
  std::vector<LogWindow> windows;   // framed: in file order
  std::uint64_t next_sequence = 1;  // framed: first sequence of the open window

  std::uint64_t ExtentsEnd() const { return extents.empty() ? 0 : extents.back().end(); }
  // Index of the extent that holds `offset`, or extents.size(). O(log n).
  std::size_t FindExtent(std::uint64_t offset) const;

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

}  // namespace zenfs
