#include "wal/wal_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/zeros.h"
#include "device/claimed_crcs.h"
#include "format/frame.h"
#include "model/state.h"

namespace zenfs {

// --- scan ---

// The numbers of a volume never get so large that a scan skips its frames.
static_assert(kStateNumbersEnd == kNumbersEnd && kStateNumbersCredible == kCredibleEnd);

bool IsPossible(const ScannedFrame& frame) {
  return frame.sequence != 0 && frame.stable_sequence < frame.sequence &&
         std::max({frame.sequence, frame.file_offset, frame.owner, frame.epoch}) < kNumbersEnd;
}

bool IsCredible(const ScannedFrame& frame) {
  return IsPossible(frame) &&
         std::max({frame.sequence, frame.file_offset, frame.owner, frame.epoch}) < kCredibleEnd;
}

std::uint64_t SyncBytes(const Geometry& geometry, const LogZone& zone, const ZoneInfo& info) {
  if (info.condition == ZoneCondition::kEmpty || info.condition == ZoneCondition::kOffline) return 0;
  const std::uint64_t bytes = std::max(zone.sync_bytes, info.random_area ? geometry.random_area_bytes : 0);
  return RoundDown(std::min(bytes, geometry.zone_size), geometry.block_size);
}

Status CheckSyncZonesReadable(const ZonedDevice& device, const std::map<ZoneId, LogZone>& zones) {
  if (!device.geometry().hides_unwritten) return {};
  for (const auto& [id, zone] : zones) {
    if (zone.sync_bytes == 0) continue;
    return Fail(
        Code::kNotSupported,
        fmt::format("{}: zone {} may hold synced bytes behind its write pointer, which cannot be read this "
                    "way; mount the volume once by nvme: or dev:, and unmount it",
                    device.name(), id.value));
  }
  return {};
}

std::uint64_t ScanLogZone(ZonedDevice& device, const Uuid& volume, const LogZone& zone, const ZoneInfo& info,
                          const std::function<void(const ScannedFrame&)>& found, std::uint64_t from,
                          const std::function<void(std::uint64_t, const ParsedFrame&)>& passed_over) {
  const std::uint32_t block = device.geometry().block_size;
  const std::uint64_t written = info.WrittenBytes();
  const std::uint64_t length =
      std::min(std::max(info.capacity, written), written + SyncBytes(device.geometry(), zone, info));
  const FrameSeed seed = FrameSeed::Of(volume, zone.zone, zone.generation, zone.salt);
  std::optional<ZoneWindow> window(std::in_place, device, info.start, from, length);
  ClaimedCrcs claimed_crcs(device, info.start);
  std::uint64_t behind_last = from;
  for (std::uint64_t at = from; at < window->end();) {
    const ParsedFrame frame = ScanFrame(
        seed, block, length - at, [&](std::uint64_t bytes) { return window->From(at, bytes); },
        [&](std::uint64_t bytes) { return claimed_crcs.Of(at + block, bytes); });
    if (!frame.valid()) {
      if (at >= window->end()) break;  // the zone can't be read any more
      if (passed_over) passed_over(at, frame);
      const bool zeros = IsZeros(window->From(at, block).first(block));
      const std::uint64_t hole = zeros ? device.KnownZeros(info.start + at, length - at) : 0;
      at += hole >= kScanStepBytes ? hole : block;
      if (hole >= kScanStepBytes) window.emplace(device, info.start, at, length);
      continue;
    }
    const std::uint64_t device_bytes = frame.header.BytesOnDevice(block);
    if (frame.header.kind == FrameKind::kLogData) {
      found({.owner = frame.header.owner,
             .epoch = frame.header.epoch,
             .sequence = frame.header.sequence,
             .file_offset = frame.header.file_offset,
             .stable_sequence = frame.header.stable_sequence,
             .time = frame.header.time,
             .length = frame.header.payload_bytes,
             .payload = info.start + at + frame.header.header_bytes,
             .device_bytes = device_bytes,
             .zone = zone.zone,
             .in_sync_block = at >= written});
    }
    at += device_bytes;
    behind_last = at;
  }
  return behind_last;
}

// --- replay ---

namespace {

class Replay {
 public:
  Replay(const FileRecord& record, std::uint64_t epoch, std::vector<ScannedFrame> frames)
      : record_(record), epoch_(epoch), frames_(std::move(frames)) {
    std::erase_if(frames_, [](const ScannedFrame& frame) { return !IsPossible(frame); });
    std::ranges::sort(frames_, {}, [](const ScannedFrame& frame) {
      // A copy in a log zone is preferred, because it stays where it is.
      return std::tuple(frame.epoch, frame.sequence, frame.file_offset, frame.length, frame.in_sync_block);
    });
    out_.mtime_seconds = record.mtime_seconds;
    for (const Extent& extent : record.extents) {
      out_.index.Append({.file_offset = extent.file_offset, .length = extent.length, .place = extent.place});
    }
  }

  ReplayedLog Run() {
    for (const LogWindow& window : record_.windows) TakeSealed(window);
    sealed_ = false;
    TakeOpen();
    return std::move(out_);
  }

 private:
  // The first frame with a sequence in [sequence, last]. Several frames may have that sequence and
  // different lengths, for two reasons: a write that was reported as failed was repeated; or a mount
  // replayed bytes from shared memory that the device had lost, and used sequences that frames behind the
  // gap have too. These frames agree in the bytes they share. Of those that leave no gap, the longest is
  // taken. That is safe: the frame that was written behind a shorter one begins inside the longest one or
  // at its end.
  const ScannedFrame* FindNext(std::uint64_t epoch, std::uint64_t sequence, std::uint64_t last) const {
    const auto place = [](const ScannedFrame& f) { return std::pair(f.epoch, f.sequence); };
    const auto first = std::ranges::lower_bound(frames_, std::pair(epoch, sequence), {}, place);
    if (first == frames_.end() || first->epoch != epoch || first->sequence > last) return nullptr;
    const ScannedFrame* best = &*first;  // the lowest offset; taken even behind a gap
    const std::uint64_t reach = std::max(out_.index.end(), first->file_offset);
    for (auto it = first; it != frames_.end() && place(*it) == place(*first); ++it) {
      if (it->file_offset <= reach && End(*it) > End(*best)) best = &*it;
    }
    return best;
  }
  const ScannedFrame* Find(std::uint64_t epoch, std::uint64_t sequence) const {
    return FindNext(epoch, sequence, sequence);
  }
  static std::uint64_t End(const ScannedFrame& frame) { return frame.file_offset + frame.length; }

  // Takes the bytes of `frame` from the end of the file so far up to file offset `limit`.
  void Take(const ScannedFrame& frame, std::uint64_t limit) {
    const std::uint64_t from = out_.index.end();
    const std::uint64_t to = std::min(End(frame), limit);
    if (to <= from) return;
    out_.index.Append({.file_offset = from,
                       .length = to - from,
                       .place = frame.payload + (from - frame.file_offset),
                       .sequence = frame.sequence,
                       .frame_bytes = frame.device_bytes,
                       .in_sync_block = frame.in_sync_block,
                       .skipped = from - frame.file_offset});
    last_found_ = out_.index.pieces().back().place + out_.index.pieces().back().length;
    out_.zones[frame.zone] += frame.device_bytes;
    if (sealed_) return;  // the time in the record is later
    out_.mtime_seconds = DecodeFrameTime(frame.time, out_.mtime_seconds).value_or(out_.mtime_seconds);
  }

  void Lose(std::uint64_t to, std::uint64_t sequence) {
    const std::uint64_t from = out_.index.end();
    if (to <= from) return;
    out_.index.Append(
        {.file_offset = from, .length = to - from, .place = {}, .sequence = sequence, .damaged = true});
    out_.damage.push_back(
        {.file = record_.id, .from = from, .to = to, .sequence = sequence, .near = Near(sequence)});
  }

  // The end of the last frame found so far, else the start of the first frame at or behind `sequence`. An image may claim a million
  // lost windows, so the search goes on where the last one ended: sequences do not decrease.
  std::optional<DeviceOffset> Near(std::uint64_t sequence) {
    if (last_found_) return last_found_;
    while (behind_ < frames_.size() && frames_[behind_].sequence < sequence) ++behind_;
    return behind_ == frames_.size() ? std::nullopt : std::optional(frames_[behind_].payload);
  }

  // Takes frames [first, last] of a window that ends at `end`. All of them were written, so missing bytes
  // are lost.
  void TakeRange(std::uint64_t epoch, std::uint64_t first, std::uint64_t last, std::uint64_t end) {
    for (std::uint64_t sequence = first; sequence <= last && out_.index.end() < end;) {
      const ScannedFrame* frame = FindNext(epoch, sequence, last);
      if (frame == nullptr) break;
      if (frame->file_offset > out_.index.end()) Lose(std::min(frame->file_offset, end), sequence);
      Take(*frame, end);
      sequence = frame->sequence + 1;
    }
  }

  void TakeSealed(const LogWindow& window) {
    TakeRange(window.epoch, window.first_sequence, window.last_sequence, window.end);
    Lose(window.end, window.last_sequence);
  }

  // Takes the open window up to the first gap. If a later frame states that the frames of the gap were
  // stable, the gap is damage.
  void TakeOpen() {
    const std::uint64_t first = record_.next_sequence;
    std::uint64_t last = TakeContiguous(first - 1);
    const std::uint64_t stable = StableSequence(first);
    if (stable > last) {
      if (Find(epoch_, stable) != nullptr) {
        TakeRange(epoch_, last + 1, stable, UINT64_MAX);
      } else {
        const ScannedFrame* beyond = FindNext(epoch_, stable + 1, UINT64_MAX);
        const std::uint64_t end = beyond != nullptr ? beyond->file_offset : out_.index.end();
        TakeRange(epoch_, last + 1, stable, end);
        Lose(end, stable);
      }
      last = TakeContiguous(stable);
    }
    if (last >= first) out_.open_window = LogWindow{epoch_, first, last, out_.index.end()};
  }

  // Takes the frames of the current epoch behind `last` up to the first gap. Returns the sequence of the
  // last one.
  std::uint64_t TakeContiguous(std::uint64_t last) {
    while (const ScannedFrame* frame = Find(epoch_, last + 1)) {
      if (frame->file_offset > out_.index.end()) break;
      Take(*frame, UINT64_MAX);
      ++last;
    }
    return last;
  }

  std::uint64_t StableSequence(std::uint64_t first) const {
    std::uint64_t stable = 0;
    for (const ScannedFrame& frame : frames_) {
      if (frame.epoch == epoch_ && frame.sequence >= first && IsCredible(frame))
        stable = std::max(stable, frame.stable_sequence);
    }
    return stable;
  }

  const FileRecord& record_;
  const std::uint64_t epoch_;
  std::vector<ScannedFrame> frames_;
  bool sealed_ = true;  // frames being taken are in sealed windows
  std::optional<DeviceOffset> last_found_;
  std::size_t behind_ = 0;  // all frames before this one have lower sequences than those that were lost
  ReplayedLog out_;
};

}  // namespace

ReplayedLog ReplayLog(const FileRecord& record, std::uint64_t epoch, std::vector<ScannedFrame> frames) {
  return Replay(record, epoch, std::move(frames)).Run();
}

std::string DamageText(const LogDamage& damage, std::string_view file) {
  return fmt::format("{}: bytes {} to {} are lost: frame {} of its log is missing or unreadable", file,
                     damage.from, damage.to, damage.sequence);
}

std::string OfflineLogText(std::string_view device, ZoneId zone) {
  return fmt::format(
      "{}: log zone {} is offline: data that is only there is lost, and logs that were written to it may "
      "end early",
      device, zone.value);
}

// --- epoch check ---

std::string EpochCheck::Text(std::uint64_t known) const {
  return fmt::format(
      "log zone {} has frames of mount epoch {}, but the last epoch in the metadata log is {}: commits are "
      "lost, including the one that began epoch {}",
      zone_.value, epoch_, known, epoch_);
}

// --- reading ahead ---

ZoneWindow::ZoneWindow(ZonedDevice& device, DeviceOffset start, std::uint64_t from, std::uint64_t end)
    : device_(device), start_(start), end_(end), begin_(from), ahead_(from) {
  if (end - std::min(from, end) > kScanStepBytes) {
    queue_ = device.CreateQueue(kPieces);
    // The caller looks at one block of known zeros, and goes on behind them.
    if (device.KnownZeros(start + from, kScanStepBytes) == kScanStepBytes)
      next_bytes_ = device.geometry().block_size;
  }
  ReadAhead(1, true);
  Collect(0);
}

ZoneWindow::~ZoneWindow() = default;

ByteView ZoneWindow::From(std::uint64_t at, std::uint64_t needed) {
  ZENFS_ASSERT(begin_ <= at);
  const std::uint64_t wanted = at + RoundUp(needed, std::uint64_t{device_.geometry().block_size});
  while (window_end() < std::min(wanted, end_)) Extend(std::min(at, window_end()));
  if (at >= window_end()) return {};
  return buffer_.View(at - begin_, window_end() - at);
}

void ZoneWindow::Extend(std::uint64_t at) {
  const std::size_t ahead =
      std::exchange(extended_, true) ? kPieces : 1;  // until the caller has seen the first piece
  ReadAhead(ahead, true);
  Piece& piece = pieces_[oldest_];
  while (!piece.read) Collect(1);
  ZENFS_ASSERT(at <= window_end());
  if (at == window_end()) {  // nearly always: frames seldom lie in two pieces
    std::swap(buffer_, piece.bytes);
    begin_ = piece.begin;
  } else {
    const ByteView rest = buffer_.View(at - begin_, window_end() - at);
    AlignedBuffer joined(rest.size() + piece.bytes.size());
    joined.Append(rest);
    joined.Append(piece.bytes.View());
    buffer_ = std::move(joined);
    begin_ = at;
  }
  piece.asked = false;
  oldest_ = (oldest_ + 1) % kPieces;
  if (ahead > 1) ReadAhead(kPieces, false);
  Collect(0);  // starts them
}

void ZoneWindow::ReadAhead(std::size_t count, bool wants) {
  for (std::size_t i = 0; i < count; ++i) {
    Piece& piece = pieces_[(oldest_ + i) % kPieces];
    if (piece.asked) continue;
    const bool wanted = wants && i == 0;
    if (ahead_ >= end_) return;
    if (!wanted && device_.KnownZeros(start_ + ahead_, device_.geometry().block_size) != 0) return;
    StartRead(piece);
  }
}

void ZoneWindow::StartRead(Piece& piece) {
  const std::uint64_t bytes = WorthReading(device_, start_ + ahead_, std::min(next_bytes_, end_ - ahead_));
  next_bytes_ = std::min(2 * next_bytes_, kPieceBytes);
  if (piece.bytes.capacity() < bytes) piece.bytes = AlignedBuffer(bytes);
  piece.bytes.Resize(bytes);
  piece.begin = std::exchange(ahead_, ahead_ + bytes);
  piece.request = {.kind = IoRequest::Kind::kRead,
                   .offset = start_ + piece.begin,
                   .read_into = piece.bytes.Span(),
                   .tag = &piece};
  piece.asked = true;
  piece.read = false;
  if (queue_ == nullptr) return End(piece, device_.Read(piece.request.offset, piece.request.read_into));
  queue_->Submit(&piece.request);
}

void ZoneWindow::Collect(std::size_t min_count) {
  if (queue_ == nullptr) return;
  done_.clear();
  queue_->Reap(min_count, done_);
  for (const IoRequest* request : done_) End(*static_cast<Piece*>(request->tag), request->status);
}

void ZoneWindow::End(Piece& piece, const Status& status) {
  piece.read = true;
  if (status.ok()) return;
  const ScanRead read =
      ReadBlocksOrZeros(device_, piece.request.offset, piece.bytes.Span(), UnreadableBlock::kRandom);
  if (read.zone_is_gone) end_ = std::min(end_, piece.begin + piece.bytes.size());
}

}  // namespace zenfs
