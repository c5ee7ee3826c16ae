#include "file/file_view.h"

#include <algorithm>
#include <atomic>

namespace zenfs {
namespace {

// Threads are assigned to slots in turn, at their first read.
std::size_t SlotOfThisThread() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

ExtentMap::ExtentMap(ZoneManager& zones, const Geometry& geometry, std::vector<Extent> extents)
    : zones_(zones), geometry_(geometry), extents_(std::move(extents)) {
  Repin();
}

bool ExtentMap::Pinned(const Pins& pins, ZoneId zone) const {
  return std::ranges::any_of(pins, [&](const auto& pin) { return pin->zone() == zone; });
}

void ExtentMap::Append(const Extent& extent, ZonePin pin) {
  if (!Pinned(pins_, geometry_.ZoneOf(extent.place))) {
    pins_.push_back(std::make_shared<const ZonePin>(std::move(pin)));
  }
  AppendExtent(extents_, extent, geometry_);
}

void ExtentMap::Cut(std::uint64_t end, KnownCrc cut_crc) {
  const std::size_t before = extents_.size();
  CutExtents(extents_, end, cut_crc);
  if (extents_.size() != before) Repin();
}

void ExtentMap::Replace(std::vector<Extent> extents) {
  extents_ = std::move(extents);
  Repin();
}

// Keeps the pins of zones that are still needed, drops the others and adds missing ones.
void ExtentMap::Repin() {
  Pins pins;
  for (const Extent& extent : extents_) {
    const ZoneId zone = geometry_.ZoneOf(extent.place);
    if (Pinned(pins, zone)) continue;
    const auto had = std::ranges::find_if(pins_, [&](const auto& pin) { return pin->zone() == zone; });
    pins.push_back(had != pins_.end() ? *had : std::make_shared<const ZonePin>(zones_.Pin(zone)));
  }
  pins_ = std::move(pins);
}

std::shared_ptr<const FileView> ExtentMap::MakeView() const {
  return std::make_shared<const FileView>(FileView{extents_, pins_});
}

void ViewSlots::Publish(std::shared_ptr<const FileView> view) {
  for (Slot& slot : slots_) {
    // `old` has its own reference count and keeps the view alive.
    auto own = std::make_shared<const std::shared_ptr<const FileView>>(view);
    std::shared_ptr<const FileView> old(std::move(own), view.get());
    MutexLock lock(slot.mutex);
    slot.view.swap(old);
  }
}

std::shared_ptr<const FileView> ViewSlots::Get() const {
  const Slot& slot = slots_[SlotOfThisThread() % slots_.size()];
  MutexLock lock(slot.mutex);
  return slot.view;
}

}  // namespace zenfs
