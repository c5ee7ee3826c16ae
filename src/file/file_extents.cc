#include "file/file_extents.h"

#include <algorithm>
#include <atomic>

#include "base/assert.h"

namespace zenfs {
namespace {

// Threads are assigned to slots in turn, at their first read.
std::size_t SlotOfThisThread() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

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

FileExtents::FileExtents(ZoneManager& zones, const Geometry& geometry, std::vector<Extent> extents,
                         std::uint64_t committed_size, ViewSlots& published)
    : zones_(zones),
      geometry_(geometry),
      extents_(std::move(extents)),
      committed_size_(committed_size),
      published_(published) {
  Repin();
  Publish();
}

bool FileExtents::Pinned(const Pins& pins, ZoneId zone) const {
  return std::ranges::any_of(pins, [&](const auto& pin) { return pin->zone() == zone; });
}

void FileExtents::Repin() {
  Pins pins;
  for (const Extent& extent : extents_) {
    const ZoneId zone = geometry_.ZoneOf(extent.place);
    if (Pinned(pins, zone)) continue;
    const auto had = std::ranges::find_if(pins_, [&](const auto& pin) { return pin->zone() == zone; });
    pins.push_back(had != pins_.end() ? *had : std::make_shared<const ZonePin>(zones_.Pin(zone)));
  }
  pins_ = std::move(pins);
}

void FileExtents::Publish() {
  published_.Publish(std::make_shared<const FileView>(FileView{extents_, pins_}));
}

void FileExtents::Append(std::vector<Placed> placed) {
  NoteChange();
  for (auto& [extent, pin] : placed) {
    if (!Pinned(pins_, geometry_.ZoneOf(extent.place)))
      pins_.push_back(std::make_shared<const ZonePin>(std::move(pin)));
    AppendExtent(extents_, extent, geometry_);
  }
  Publish();
}

void FileExtents::Cut(std::uint64_t end, KnownCrc cut_crc) {
  if (this->end() <= end) return;
  const std::size_t before = extents_.size();
  CutExtents(extents_, end, cut_crc);
  if (extents_.size() != before) Repin();
  NoteChange();
  Publish();
}

void FileExtents::NoteChange() {
  ++revision_;
  for (ExtentChange* change : {&change_, &change_since_begin_}) {
    if (end() >= change->from) continue;
    change->from = end();
    change->before = all().empty() ? std::nullopt : std::optional(all().back());
  }
}

void FileExtents::TakeMoved(const std::vector<Extent>& moved) {
  if (changed()) {
    SplicedExtents spliced = SpliceExtents(moved, all(), change_, geometry_);
    change_.before = spliced.before;
    extents_ = std::move(spliced.all);
  } else {
    extents_ = moved;
  }
  Repin();
  Publish();
}

void FileExtents::NoteWrite(FlushMark before) {
  if (!written_since_commit_) written_since_commit_ = before;
  if (!written_since_begin_) written_since_begin_ = before;
}

// The edit begins with the extent that the change continues, so that appends of many syncs are committed as one
// extent. An extent that ends at the change is included too: it may have been cut there and have a new checksum.
SetExtents FileExtents::EditToCommit(FileId id, std::uint64_t mtime_seconds, bool restate_all) const {
  ZENFS_ASSERT(changed());
  SetExtents edit{.id = id, .from_offset = change_.from, .size = end(), .mtime_seconds = mtime_seconds};
  for (const Extent& extent : all()) {
    if (extent.file_offset < change_.from && change_.from <= extent.end())
      edit.from_offset = extent.file_offset;
  }
  if (restate_all) edit.from_offset = 0;
  edit.extents = ClipExtents(all(), edit.from_offset, end());
  return edit;
}

void FileExtents::BeginCommit() {
  in_flight_ = published_.Get();
  in_flight_size_ = end();
  change_since_begin_ = {};
  written_since_begin_.reset();
}

void FileExtents::EndCommit(std::uint64_t size) {
  change_ = change_since_begin_;
  written_since_commit_ = written_since_begin_;
  in_flight_.reset();
  committed_size_ = size;
  in_flight_size_ = 0;
}

}  // namespace zenfs
