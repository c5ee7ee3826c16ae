#include "wal/frame_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "format/frame.h"

namespace zenfs {
namespace {

Piece PieceOf(const Extent& extent) {
  return {.file_offset = extent.file_offset, .length = extent.length, .place = extent.place};
}

}  // namespace

FrameMap::FrameMap(const FileRecord& record, FrameIndex index, std::uint64_t epoch,
                   std::uint64_t mtime_seconds)
    : id_(record.id),
      epoch_(epoch),
      index_(std::move(index)),
      windows_(record.windows),
      extents_end_(record.ExtentsEnd()),
      open_first_sequence_(record.next_sequence),
      next_sequence_(record.next_sequence),
      stable_sequence_(record.next_sequence - 1),
      stable_end_(index_.end()),
      sent_seconds_(mtime_seconds) {
  ZENFS_ASSERT(IsConsistent());
}

bool FrameMap::IsConsistent() const {
  std::uint64_t end = extents_end_;
  std::uint64_t sequence = 0;
  for (const LogWindow& window : windows_) {
    if (window.end < end || window.first_sequence <= sequence || window.last_sequence < window.first_sequence)
      return false;
    end = window.end;
    sequence = window.last_sequence;
  }
  return end <= index_.end() && stable_end_ <= index_.end() && sequence < open_first_sequence_ &&
         open_first_sequence_ <= next_sequence_ && stable_sequence_ < next_sequence_;
}

void FrameMap::Publish(const Piece& frame, FlushMark before) {
  ZENFS_ASSERT(IsConsistent());
  if (frame.sequence < next_sequence_) {
    const std::size_t i = index_.Find(frame.file_offset);
    ZENFS_ASSERT(i < index_.size() && index_[i].sequence == frame.sequence &&
                 index_[i].file_offset == frame.file_offset && index_[i].length == frame.length);
    index_.Replace(i, frame);
  } else {
    ZENFS_ASSERT(frame.sequence == next_sequence_ && frame.file_offset == index_.end() && frame.length != 0);
    unstable_since_ = UnstableSince(before);
    index_.Append(frame);
    next_sequence_ = frame.sequence + 1;
  }
  ZENFS_ASSERT(IsConsistent());
}

std::uint16_t FrameMap::TimeOfNextFrame(std::uint64_t mtime_seconds) const {
  return EncodeFrameTime(mtime_seconds, sent_seconds_);
}

void FrameMap::NoteTime(std::uint16_t time) {
  sent_seconds_ = DecodeFrameTime(time, sent_seconds_).value_or(sent_seconds_);
}

void FrameMap::PromiseStable() {
  stable_sequence_ = next_sequence_ - 1;
  stable_end_ = index_.end();
  ZENFS_ASSERT(IsConsistent());
}

std::optional<Piece> FrameMap::FindUnstable(std::uint64_t from) const {
  for (std::size_t i = index_.Find(std::max(from, stable_end_)); i < index_.size(); ++i) {
    if (index_[i].sequence >= open_first_sequence_) return index_[i];
  }
  return std::nullopt;
}

Status FrameMap::ForEachPart(std::uint64_t offset, ByteSpan into,
                             const std::function<void(const Piece&, std::uint64_t, ByteSpan)>& use) const {
  if (into.empty()) return {};
  const std::uint64_t end = offset + into.size();
  for (std::size_t i = index_.Find(offset); i < index_.size() && index_[i].file_offset < end; ++i) {
    const Piece& piece = index_[i];
    const std::uint64_t from = std::max(offset, piece.file_offset);
    const std::uint64_t to = std::min(end, piece.end());
    if (piece.damaged) {
      return Fail(Code::kCorruption, fmt::format("file {}: bytes {} to {} of its log are lost", id_.value,
                                                 piece.file_offset, piece.end()));
    }
    use(piece, from, into.subspan(from - offset, to - from));
  }
  return {};
}

Result<std::vector<PieceRead>> FrameMap::PlanRead(std::uint64_t offset, ByteSpan into) const {
  std::vector<PieceRead> reads;
  ZENFS_RETURN_IF_ERROR(ForEachPart(offset, into, [&](const Piece& piece, std::uint64_t from, ByteSpan part) {
    reads.push_back({piece.place + (from - piece.file_offset), part});
  }));
  return reads;
}

Result<FrameMap::VerifiedRead> FrameMap::PlanVerifiedRead(std::uint64_t offset, ByteSpan into) const {
  VerifiedRead reads;
  ZENFS_RETURN_IF_ERROR(ForEachPart(offset, into, [&](const Piece& piece, std::uint64_t from, ByteSpan part) {
    if (piece.sequence == 0) {
      reads.unverified.push_back({piece.place + (from - piece.file_offset), part});
    } else {
      reads.frames.push_back({.piece = piece, .seed = {}, .from = from, .into = part});
    }
  }));
  return reads;
}

std::vector<LogWindow> FrameMap::WindowsUpTo(std::uint64_t end) const {
  std::vector<LogWindow> all = windows_;
  if (next_sequence_ > open_first_sequence_) {
    all.push_back({epoch_, open_first_sequence_, next_sequence_ - 1, index_.end()});
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

std::optional<SealLog> FrameMap::SealOfOpenWindow(std::uint64_t mtime_seconds) const {
  if (next_sequence_ == open_first_sequence_) return std::nullopt;
  return SealLog{.id = id_,
                 .windows = WindowsUpTo(index_.end()),
                 .next_sequence = next_sequence_,
                 .size = index_.end(),
                 .mtime_seconds = mtime_seconds};
}

RewritePlan FrameMap::PlanTruncation(std::uint64_t size, const std::optional<Extent>& front,
                                     std::uint64_t mtime_seconds, FlushMark now) const {
  ZENFS_ASSERT(size <= index_.end());
  RewritePlan plan{.kind = RewritePlan::Kind::kTruncation,
                   .edits = {},
                   .end = size,
                   .extents = {},
                   .windows = WindowsUpTo(size),
                   .open_first_sequence = next_sequence_,
                   .mtime_seconds = mtime_seconds,
                   .unstable_since = UnstableSince(now)};
  if (size < extents_end_) {
    SetExtents cut{id_, size, {}, size, mtime_seconds};
    if (front) {
      cut.from_offset = front->file_offset;
      cut.extents.push_back(*front);
    }
    plan.edits.push_back(std::move(cut));
  }
  plan.edits.push_back(SealLog{id_, plan.windows, plan.open_first_sequence, size, mtime_seconds});
  return plan;
}

CleaningRange FrameMap::RangeToClean(const Geometry& geometry, std::span<const ZoneId> zones,
                                     std::uint64_t bytes, FlushMark now) const {
  CleaningRange range;
  const std::uint64_t from = RoundDown(extents_end_, geometry.block_size);
  std::uint64_t first_part = 0;
  for (const Piece& piece : index_.pieces()) {
    if (piece.damaged) return {};
    if (piece.sequence == 0) continue;
    if (first_part == 0 || piece.end() - from <= bytes) first_part = piece.end();
    if (std::ranges::binary_search(zones, geometry.ZoneOf(piece.place))) range.to = piece.end();
  }
  range.to = std::min(range.to, first_part);
  if (range.to != 0) range.from = from;
  range.unstable_since = UnstableSince(now);
  return range;
}

std::uint64_t FrameMap::RestatedBytes(const Geometry& geometry, std::span<const ZoneId> zones,
                                      std::uint64_t bytes) const {
  const std::uint64_t to = RangeToClean(geometry, zones, UINT64_MAX, unstable_since_).to;
  if (to == 0 || windows_.empty()) return 0;
  std::uint64_t restated = 0;  // windows
  std::size_t covered = 0;     // windows
  const auto commit = [&](std::uint64_t end) {
    while (covered < windows_.size() && windows_[covered].end <= end) ++covered;
    restated += windows_.size() - covered;
  };
  std::uint64_t begin = extents_end_;  // of the present range
  std::uint64_t end = begin;
  for (std::size_t i = index_.Find(begin); i < index_.size() && end < to; ++i) {
    const Piece& piece = index_[i];
    if (end != begin && piece.end() - RoundDown(begin, geometry.block_size) > bytes) {
      commit(end);
      begin = end;
    }
    end = piece.end();
  }
  commit(to);
  return restated * kRestatedBytesAWindow;
}

Result<RewritePlan> FrameMap::PlanCleaning(const CleaningRange& range, std::vector<Extent> extents) const {
  const std::size_t last = range.to == 0 ? index_.size() : index_.Find(range.to - 1);
  if (last == index_.size() || index_[last].end() != range.to || extents_end_ < range.from ||
      extents_end_ >= range.to) {
    return Fail(Code::kBusy, fmt::format("file {}: truncated or cleaned during this cleaning", id_.value));
  }
  RewritePlan plan{.kind = RewritePlan::Kind::kCleaning,
                   .edits = {},
                   .end = range.to,
                   .extents = std::move(extents),
                   .windows = {}};
  for (const LogWindow& window : windows_) {
    if (window.end > range.to) plan.windows.push_back(window);
  }
  const std::uint64_t next = index_[last].sequence + 1;
  const std::uint64_t sealed_end = windows_.empty() ? extents_end_ : windows_.back().end;
  plan.open_first_sequence = std::max(open_first_sequence_, range.to > sealed_end ? next : 0);
  // If the range ends inside the first window that stays, that window begins with the next frame.
  if (!plan.windows.empty() && next > plan.windows.front().first_sequence) {
    plan.windows.front().first_sequence = next;
  }
  const std::uint64_t size = std::max(range.to, sealed_end);
  // A cleaning changes no byte, so the file keeps the time that a mount would find.
  plan.edits.push_back(SetExtents{id_, range.from, plan.extents, size, sent_seconds_});
  plan.edits.push_back(SealLog{id_, plan.windows, plan.open_first_sequence, size, sent_seconds_});
  return plan;
}

void FrameMap::Apply(const RewritePlan& plan) {
  ZENFS_ASSERT(IsConsistent());
  if (plan.kind == RewritePlan::Kind::kTruncation) {
    ZENFS_ASSERT(plan.end <= index_.end() && plan.open_first_sequence == next_sequence_);
    index_.CutAt(plan.end);
    extents_end_ = std::min(extents_end_, plan.end);
    stable_end_ = plan.end;
    sent_seconds_ = plan.mtime_seconds;
  } else {
    ZENFS_ASSERT(extents_end_ < plan.end && plan.end <= index_.end());
    ZENFS_ASSERT(!plan.extents.empty() && plan.extents.back().end() == plan.end);
    std::vector<Piece> pieces;
    const std::uint64_t from = plan.extents.front().file_offset;
    for (const Piece& piece : index_.pieces()) {  // earlier extents, cut where the new ones begin
      if (piece.file_offset >= from) break;
      pieces.push_back(piece);
      pieces.back().length = std::min(piece.end(), from) - piece.file_offset;
    }
    for (const Extent& extent : plan.extents) pieces.push_back(PieceOf(extent));
    index_.ReplaceBelow(plan.end, std::move(pieces));
    extents_end_ = plan.end;
  }
  windows_ = plan.windows;
  open_first_sequence_ = plan.open_first_sequence;
  ZENFS_ASSERT(IsConsistent());
}

void FrameMap::TakeMoved(const std::vector<Extent>& extents) {
  ZENFS_ASSERT(extents.empty() ? extents_end_ == 0 : extents.back().end() == extents_end_);
  std::vector<Piece> pieces;
  for (const Extent& extent : extents) pieces.push_back(PieceOf(extent));
  index_.ReplaceBelow(extents_end_, std::move(pieces));
  ZENFS_ASSERT(IsConsistent());
}

FileZones::~FileZones() {
  if (log_ == nullptr) return;
  for (auto& [id, zone] : zones_) {
    zone.pin = ZonePin();  // before LogZones checks for pins
    if (zone.frames.device_bytes != 0) log_->RemoveLive(id, zone.frames);
  }
}

void FileZones::Adopt(const std::map<ZoneId, std::uint64_t>& device_bytes, std::span<const Piece> pieces) {
  for (const auto& [zone, bytes] : device_bytes) {
    zones_[zone] = {.pin = manager_.Pin(zone), .frames = {.device_bytes = bytes}};
  }
  for (const Piece& piece : pieces) {
    if (piece.damaged || piece.sequence == 0) continue;
    zones_[geometry_.ZoneOf(piece.place)].frames.payload += piece.length;
  }
  if (log_ == nullptr) return;
  for (const auto& [id, zone] : zones_) log_->AddLive(id, zone.frames);
}

void FileZones::Pin(DeviceOffset place) {
  const ZoneId zone = geometry_.ZoneOf(place);
  Entry& entry = zones_[zone];
  if (!entry.pin.valid()) entry.pin = manager_.Pin(zone);
}

void FileZones::Add(const ZonePin& pin, LiveFrames frame) {
  Entry& entry = zones_[pin.zone()];
  entry.frames += frame;
  if (!entry.pin.valid()) entry.pin = pin;
}

void FileZones::Recount(std::span<const Piece> pieces) {
  std::map<ZoneId, Entry> old = std::exchange(zones_, {});
  for (const Piece& piece : pieces) {
    if (piece.damaged) continue;
    Pin(piece.place);
    if (piece.sequence != 0) {
      zones_[geometry_.ZoneOf(piece.place)].frames += {piece.frame_bytes, piece.length};
    }
  }
  for (auto& [id, zone] : old) {
    const auto it = zones_.find(id);
    zone.pin = ZonePin();
    // In this order, so that the count never is 0 in between and the zone is not released.
    if (it != zones_.end()) log_->AddLive(id, it->second.frames);
    log_->RemoveLive(id, zone.frames);
  }
}

std::map<ZoneId, LiveFrames> FileZones::Frames() const {
  std::map<ZoneId, LiveFrames> frames;
  for (const auto& [id, zone] : zones_) {
    if (zone.frames.device_bytes != 0) frames.emplace(id, zone.frames);
  }
  return frames;
}

}  // namespace zenfs
