// A change of the committed part of a framed file, from its plan to its commit: a truncation, or a
// cleaning, which replaces the front of the file by extents.
//
// Ownership, threads: values. FrameMap makes and applies them.
// Units: bytes; file offsets unless a name says otherwise; seconds since 1970.
#pragma once

#include <cstdint>
#include <vector>

#include "device/flush_mark.h"
#include "model/edit.h"
#include "model/file_record.h"

namespace zenfs {

// Bytes [from, to) of a file, which a cleaning moves into extents. `from` is a multiple of the block size,
// `to` is the end of a frame. Empty if `to` is 0.
struct CleaningRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  // FrameMap::UnstableSince when the range was chosen. If a flush failed since then, the bytes read may be
  // lost.
  FlushMark unstable_since = FlushMark::AtOpen();
};

struct RewritePlan {
  enum class Kind { kTruncation, kCleaning };

  Kind kind = Kind::kTruncation;
  std::vector<Edit> edits;      // for one commit
  std::uint64_t end = 0;        // truncation: the new size; cleaning: the end of the moved bytes
  std::vector<Extent> extents;  // cleaning: where the moved bytes are now
  std::vector<LogWindow> windows;
  std::uint64_t open_first_sequence = 0;
  std::uint64_t mtime_seconds = 0;                 // truncation
  FlushMark unstable_since = FlushMark::AtOpen();  // truncation: FrameMap::UnstableSince when it was planned
};

}  // namespace zenfs
