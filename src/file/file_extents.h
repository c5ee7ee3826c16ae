// The extents of an open plain file, and how they differ from the committed ones.
//
//   0 ........ committed ........ | changed ........ | end()
//                                 ^ the change begins here, if there is one
//
//     EditToCommit -> BeginCommit -> (the log commits the edit) -> EndCommit
//
// If the commit fails, EndCommit is not called, and the next edit contains the change again. The file may change between
// BeginCommit and EndCommit.
//
// Invariants
//   the extents cover [0, end()) without gaps, and their zones are pinned
//   up to the start of the change, the extents have the bytes of the committed ones
//   from BeginCommit to EndCommit, the zones of the extents as of BeginCommit are pinned
//   the view in `published` has these extents
//
// Ownership: `published` outlives it.
// Threads: no lock; the lock of the file guards it (plain_file_parts.h). No I/O.
// Units: bytes, file offsets, seconds since 1970. Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/flush_mark.h"
#include "file/extent_splice.h"
#include "file/file_view.h"
#include "model/edit.h"

namespace zenfs {

class FileExtents {
 public:
  // An extent that was written, with a pin on its zone.
  using Placed = std::pair<Extent, ZonePin>;

  // `map` has the committed extents of a file of `committed_size` bytes.
  FileExtents(const Geometry& geometry, ExtentMap map, std::uint64_t committed_size, ViewSlots& published)
      : geometry_(geometry), map_(std::move(map)), committed_size_(committed_size), published_(published) {}

  const std::vector<Extent>& all() const { return map_.extents(); }
  std::uint64_t end() const { return map_.end(); }
  // Rises with each change of the extents, except TakeMoved.
  std::uint64_t revision() const { return revision_; }

  // Adds `placed`, which begins at end().
  void Append(std::vector<Placed> placed);
  // Removes the extents from `end` on. `cut_crc`: the checksum of the rest of an extent that is cut.
  void Cut(std::uint64_t end, KnownCrc cut_crc);
  // Reclaim has moved the committed extents. `moved` are all of them. Not between BeginCommit and EndCommit.
  void TakeMoved(const std::vector<Extent>& moved);

  // --- commit ---
  // False if the extents are the committed ones.
  bool changed() const { return change_.any(); }
  // The file offset of the change; all ones if there is none.
  std::uint64_t changed_from() const { return change_.from; }
  // The size of the file in the last commit, or in the commit in flight if that is larger: a mount may find either.
  std::uint64_t committed_size() const { return std::max(committed_size_, in_flight_size_); }
  // Something was written for this file. `before`: a mark from before the write.
  void NoteWrite(FlushMark before);
  // A mark from before the first write since the last commit; empty if nothing was written.
  const std::optional<FlushMark>& written_since() const { return written_since_commit_; }
  // Returns the edit that commits the change. `restate_all`: the committed extents have other bounds, so that the edit
  // must have all extents.
  SetExtents EditToCommit(FileId id, std::uint64_t mtime_seconds, bool restate_all) const;
  // An edit with the present extents is about to be committed.
  void BeginCommit();
  // That edit is committed. The file then has `size` bytes.
  void EndCommit(std::uint64_t size);

 private:
  void NoteChange();

  const Geometry& geometry_;
  ExtentMap map_;
  std::uint64_t revision_ = 0;
  // The differences to the committed extents, and to those of the last BeginCommit.
  ExtentChange change_;
  ExtentChange change_since_begin_;
  // Taken before the first device write since the last EndCommit, and BeginCommit.
  std::optional<FlushMark> written_since_commit_;
  std::optional<FlushMark> written_since_begin_;
  std::uint64_t committed_size_;
  std::uint64_t in_flight_size_ = 0;  // of the last BeginCommit, until EndCommit
  // Pins the zones that a commit in flight may name.
  std::shared_ptr<const FileView> in_flight_;
  ViewSlots& published_;
};

}  // namespace zenfs
