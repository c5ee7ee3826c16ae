// The extents of an open plain file, how they differ from the committed ones, and the views that readers hold.
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
//   the view in `published` has these extents, and pins their zones until its last reader frees it
//
// Ownership: `published` outlives it.
// Threads: no lock; the lock of the file guards it, except `published`. No I/O.
// Units: bytes, file offsets, seconds since 1970. Errors: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "device/flush_mark.h"
#include "file/extent_list.h"
#include "model/edit.h"
#include "zone/zone_manager.h"

namespace zenfs {

// An immutable view of a file's extents. It pins their zones, so no zone is reset under a reader. Each change of the
// file publishes a new view; the last reader of an old view frees it.
struct FileView {
  std::vector<Extent> extents;
  std::vector<std::shared_ptr<const ZonePin>> pins;  // on the zones of these extents

  std::uint64_t end() const { return ExtentsEnd(extents); }
};

// The published view. Threads use different copies of the pointer, so that they do not contend for one reference
// count.
class ViewSlots {
 public:
  void Publish(std::shared_ptr<const FileView> view);
  // Returns the present view; null before the first Publish. Thread-safe.
  std::shared_ptr<const FileView> Get() const;

 private:
  struct alignas(64) Slot {
    mutable Mutex mutex{LockRank::kLeaf};
    std::shared_ptr<const FileView> view GUARDED_BY(mutex);
  };
  std::array<Slot, 4> slots_;
};

class FileExtents {
 public:
  // An extent that was written, with a pin on its zone.
  using Placed = std::pair<Extent, ZonePin>;

  // `extents` are the committed ones of a file of `committed_size` bytes. Pins their zones through `zones`, which
  // outlives the object and all its views, and publishes them.
  FileExtents(ZoneManager& zones, const Geometry& geometry, std::vector<Extent> extents,
              std::uint64_t committed_size, ViewSlots& published);

  const std::vector<Extent>& all() const { return extents_; }
  std::uint64_t end() const { return ExtentsEnd(extents_); }
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
  using Pins = std::vector<std::shared_ptr<const ZonePin>>;

  // Records a change of the extents from their end on.
  void NoteChange();
  bool Pinned(const Pins& pins, ZoneId zone) const;
  // Keeps the pins of zones that are still needed, drops the others and adds missing ones.
  void Repin();
  void Publish();

  ZoneManager& zones_;
  const Geometry& geometry_;
  std::vector<Extent> extents_;
  Pins pins_;  // one for each zone of extents_
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
