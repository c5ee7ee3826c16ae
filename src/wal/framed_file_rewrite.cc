// Changes of a framed file's committed part: truncation, and cleaning frames into extents.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wal/framed_file.h"

namespace zenfs {

// The windows, the open one included, cut at file offset `end`.
std::vector<LogWindow> FramedFile::WindowsUpTo(std::uint64_t end) const {
  std::vector<LogWindow> all = windows_;
  if (next_sequence_ > open_first_sequence_) {
    all.push_back({deps_.epoch, open_first_sequence_, next_sequence_ - 1, index_.end()});
  }
  std::vector<LogWindow> kept;
  std::uint64_t begin = extents_end_;
  for (LogWindow& window : all) {
    if (begin >= end) break;
    begin = window.end;
    if (window.end > end) {
      window.last_sequence = index_[index_.Find(end - 1)].sequence;
      window.end = end;
    }
    kept.push_back(window);
  }
  return kept;
}

std::optional<SealLog> FramedFile::SealOfOpenWindow() const {
  MutexLock lock(mutex_);
  if (!state_.sound() || !state_.free() || !active_.empty() || !flight_.empty() || MayHaveLost())
    return std::nullopt;
  if (next_sequence_ == open_first_sequence_) return std::nullopt;
  return SealLog{.id = id_,
                 .windows = WindowsUpTo(index_.end()),
                 .next_sequence = next_sequence_,
                 .size = index_.end(),
                 .mtime_seconds = mtime_seconds_};
}

FramedFile::Rewrite::Rewrite(Rewrite&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      kind_(other.kind_),
      edits_(std::move(other.edits_)),
      end_(other.end_),
      extents_(std::move(other.extents_)),
      windows_(std::move(other.windows_)),
      open_first_sequence_(other.open_first_sequence_),
      mtime_seconds_(other.mtime_seconds_),
      unstable_since_(other.unstable_since_) {}

FramedFile::Rewrite::~Rewrite() {
  if (file_ != nullptr) End(Fail(Code::kShutdown, "not committed"));
}

void FramedFile::Rewrite::End(const Status& committed) {
  FramedFile& file = *std::exchange(file_, nullptr);
  if (kind_ == Kind::kTruncation) {
    file.EndTruncation(*this, committed);
  } else {
    file.EndClean(*this, committed);
  }
}

Result<FramedFile::Rewrite> FramedFile::BeginTruncate(std::uint64_t size,
                                                      const std::optional<Extent>& front) {
  ZENFS_RETURN_IF_ERROR(WriteBack());
  MutexLock lock(mutex_);
  while (!state_.free() || state_.cleaning()) turn_.Wait(mutex_);
  if (!state_.sound()) return Fail(state_.sent().error());
  const std::uint64_t old_size = SizeLocked();
  if (size > old_size) {
    return Fail(Code::kNotSupported,
                fmt::format("file {}: cannot be made longer, from {} to {} bytes, by truncation", id_.value,
                            old_size, size));
  }
  if (old_size != index_.end()) {
    return Fail(Code::kBusy, fmt::format("file {}: appended to while it is truncated", id_.value));
  }
  state_.BeginTruncation();
  Rewrite rewrite(*this, Rewrite::Kind::kTruncation);
  rewrite.end_ = size;
  rewrite.windows_ = WindowsUpTo(size);
  rewrite.open_first_sequence_ = next_sequence_;
  rewrite.mtime_seconds_ = WallSeconds();
  rewrite.unstable_since_ = UnstableSince();
  if (size < extents_end_) {
    SetExtents cut{id_, size, {}, size, rewrite.mtime_seconds_};
    if (front) {
      cut.from_offset = front->file_offset;
      cut.extents.push_back(*front);
    }
    rewrite.edits_.push_back(std::move(cut));
  }
  rewrite.edits_.push_back(SealLog{id_, rewrite.windows_, next_sequence_, size, rewrite.mtime_seconds_});
  return rewrite;
}

void FramedFile::EndTruncation(const Rewrite& rewrite, const Status& committed) {
  MutexLock lock(mutex_);
  if (committed.ok()) {
    index_.CutAt(rewrite.end_);
    extents_end_ = std::min(extents_end_, rewrite.end_);
    stable_end_ = rewrite.end_;
    mtime_seconds_ = sent_seconds_ = rewrite.mtime_seconds_;
    TakeOver(rewrite);
  } else if (committed.error().code() == Code::kUnknownOutcome) {
    state_.CloseAppends(Fail(committed.error().With(fmt::format("file {}: its truncation", id_.value))));
  }
  state_.EndTruncation();
  turn_.NotifyAll();
}

std::map<ZoneId, LiveFrames> FramedFile::FrameZones() const {
  MutexLock lock(mutex_);
  return zones_.Frames();
}

FramedFile::CleanRange FramedFile::RangeToClean(ZoneId zone, std::uint64_t bytes) const {
  MutexLock lock(mutex_);
  CleanRange range;
  const Geometry& geometry = deps_.device->geometry();
  const std::uint64_t from = RoundDown(extents_end_, geometry.block_size);
  std::uint64_t first_part = 0;
  for (const Piece& piece : index_.pieces()) {
    if (piece.damaged) return {};
    if (piece.sequence == 0) continue;
    if (first_part == 0 || piece.end() - from <= bytes) first_part = piece.end();
    if (geometry.ZoneOf(piece.place) == zone) range.to = piece.end();
  }
  range.to = std::min(range.to, first_part);
  if (range.to != 0) range.from = from;
  range.unstable_since = UnstableSince();
  return range;
}

// Does not wait for a frame in flight, which goes behind what is cleaned: that frame may itself wait for the
// log zone that cleaning frees.
Result<FramedFile::Rewrite> FramedFile::BeginClean(const CleanRange& range, std::vector<Extent> extents) {
  MutexLock lock(mutex_);
  while (state_.truncating() || state_.cleaning()) turn_.Wait(mutex_);
  const std::size_t last = range.to == 0 ? index_.size() : index_.Find(range.to - 1);
  if (range.unstable_since.FlushFailedSince(*deps_.device) || last == index_.size() ||
      index_[last].end() != range.to || extents_end_ < range.from || extents_end_ >= range.to) {
    return Fail(Code::kBusy, fmt::format("file {}: changed while it was cleaned", id_.value));
  }
  state_.BeginClean();
  Rewrite rewrite(*this, Rewrite::Kind::kClean);
  rewrite.end_ = range.to;
  rewrite.extents_ = std::move(extents);
  for (const LogWindow& window : windows_) {
    if (window.end <= range.to) continue;
    rewrite.windows_.push_back(window);
  }
  const std::uint64_t next = index_[last].sequence + 1;
  const std::uint64_t sealed_end = windows_.empty() ? extents_end_ : windows_.back().end;
  rewrite.open_first_sequence_ = std::max(open_first_sequence_, range.to > sealed_end ? next : 0);
  // The first window that stays begins behind the cleaned part if that ends inside it.
  if (!rewrite.windows_.empty() && next > rewrite.windows_.front().first_sequence) {
    rewrite.windows_.front().first_sequence = next;
  }
  const std::uint64_t size = std::max(range.to, sealed_end);
  // Cleaning changes no byte: the time stays that of what the device has.
  rewrite.edits_.push_back(SetExtents{id_, range.from, rewrite.extents_, size, sent_seconds_});
  rewrite.edits_.push_back(SealLog{id_, rewrite.windows_, rewrite.open_first_sequence_, size, sent_seconds_});
  return rewrite;
}

void FramedFile::EndClean(const Rewrite& rewrite, const Status& committed) {
  MutexLock lock(mutex_);
  if (committed.ok()) {
    std::vector<Piece> pieces;
    const std::uint64_t from = rewrite.extents_.front().file_offset;
    for (const Piece& piece : index_.pieces()) {  // earlier extents, cut where the new ones begin
      if (piece.file_offset >= from) break;
      pieces.push_back(piece);
      pieces.back().length = std::min(piece.end(), from) - piece.file_offset;
    }
    for (const Extent& extent : rewrite.extents_) {
      pieces.push_back({.file_offset = extent.file_offset, .length = extent.length, .place = extent.place});
    }
    index_.ReplaceBelow(rewrite.end_, std::move(pieces));
    extents_end_ = rewrite.end_;
    TakeOver(rewrite);
  }
  state_.EndClean();
  turn_.NotifyAll();
}

void FramedFile::TakeMoved(const std::vector<Extent>& extents) {
  MutexLock lock(mutex_);
  std::vector<Piece> pieces;
  for (const Extent& extent : extents) {
    pieces.push_back({.file_offset = extent.file_offset, .length = extent.length, .place = extent.place});
  }
  index_.ReplaceBelow(extents_end_, std::move(pieces));
  RecountZones();
}

void FramedFile::TakeOver(const Rewrite& rewrite) {
  windows_ = rewrite.windows_;
  open_first_sequence_ = rewrite.open_first_sequence_;
  RecountZones();
}

}  // namespace zenfs
