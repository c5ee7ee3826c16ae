// What of a file is on the device, as an immutable value that readers hold while they read.
//
// A view pins the zones of its extents, so what a reader holds can't be reset under it. Each change of a file
// publishes a new view; the old one goes with its last reader.
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
  std::vector<std::shared_ptr<const ZonePin>> pins;  // of the zones of these extents

  std::uint64_t end() const { return ExtentsEnd(extents); }
};

// The view under construction: changed by the file's writer, under its lock.
class ExtentMap {
 public:
  // Pins the zones of `extents` through `zones`, which outlives the map and all its views.
  ExtentMap(ZoneManager& zones, const Geometry& geometry, std::vector<Extent> extents);

  const std::vector<Extent>& extents() const { return extents_; }
  std::uint64_t end() const { return ExtentsEnd(extents_); }

  void Append(const Extent& extent, ZonePin pin);
  // `cut_crc`: of what remains of an extent that is cut.
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
  Pins pins_;  // one a zone
};

// The published view. Readers on different processors take different copies of the pointer, so that they
// don't contend for its reference count.
class ViewSlots {
 public:
  explicit ViewSlots(std::shared_ptr<const FileView> view) { Publish(std::move(view)); }

  void Publish(std::shared_ptr<const FileView> view);
  // Never null. Threads: any.
  std::shared_ptr<const FileView> Get() const;

 private:
  struct alignas(64) Slot {
    mutable Mutex mutex{LockRank::kLeaf};
    std::shared_ptr<const FileView> view GUARDED_BY(mutex);
  };
  std::array<Slot, 4> slots_;
};

}  // namespace zenfs
