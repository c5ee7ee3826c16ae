// The extents of an open file, as an immutable view that readers hold while they read.
//
// A view pins the zones of its extents, so no zone is reset under a reader. Each change of the file publishes a
// new view; the last reader of an old view frees it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "file/extent_list.h"
#include "zone/zone_manager.h"

namespace zenfs {

struct FileView {
  std::vector<Extent> extents;
  std::vector<std::shared_ptr<const ZonePin>> pins;  // on the zones of these extents

  std::uint64_t end() const { return ExtentsEnd(extents); }
};

// The extents that the next view is made from. Not thread-safe: the file's writer changes it under its lock.
class ExtentMap {
 public:
  // Pins the zones of `extents` through `zones`, which outlives the map and all its views.
  ExtentMap(ZoneManager& zones, const Geometry& geometry, std::vector<Extent> extents);

  const std::vector<Extent>& extents() const { return extents_; }
  std::uint64_t end() const { return ExtentsEnd(extents_); }

  void Append(const Extent& extent, ZonePin pin);
  // `cut_crc`: the checksum of the rest of an extent that is cut.
  void Cut(std::uint64_t end, KnownCrc cut_crc);
  void Replace(std::vector<Extent> extents);
  std::shared_ptr<const FileView> MakeView() const;

 private:
  using Pins = std::vector<std::shared_ptr<const ZonePin>>;
  bool Pinned(const Pins& pins, ZoneId zone) const;
  void Repin();

  ZoneManager& zones_;
  const Geometry& geometry_;
  std::vector<Extent> extents_;
  Pins pins_;  // one for each zone
};

// The published view. Threads use different copies of the pointer, so that they do not contend for one reference
// count.
class ViewSlots {
 public:
  explicit ViewSlots(std::shared_ptr<const FileView> view) { Publish(std::move(view)); }

  void Publish(std::shared_ptr<const FileView> view);
  // Returns the present view, never null. Thread-safe.
  std::shared_ptr<const FileView> Get() const;

 private:
  struct alignas(64) Slot {
    mutable Mutex mutex{LockRank::kLeaf};
    std::shared_ptr<const FileView> view GUARDED_BY(mutex);
  };
  std::array<Slot, 4> slots_;
};

}  // namespace zenfs
