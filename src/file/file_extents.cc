#include "file/file_extents.h"

#include "base/assert.h"

namespace zenfs {

void FileExtents::Append(std::vector<Placed> placed) {
  NoteChange();
  for (auto& [extent, pin] : placed) {
    ZENFS_ASSERT(extent.file_offset == end());
    map_.Append(extent, std::move(pin));
  }
  published_.Publish(map_.MakeView());
}

void FileExtents::Cut(std::uint64_t end, KnownCrc cut_crc) {
  if (map_.end() <= end) return;
  map_.Cut(end, cut_crc);
  NoteChange();
  published_.Publish(map_.MakeView());
}

// Records a change of the extents from the end of the map on.
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
    map_.Replace(std::move(spliced.all));
  } else {
    map_.Replace(moved);
  }
  published_.Publish(map_.MakeView());
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
