#include "wal/log_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "format/frame_time.h"

namespace zenfs {
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

ReplayedLog ReplayLog(const FileRecord& record, std::uint64_t epoch, std::vector<ScannedFrame> frames) {
  return Replay(record, epoch, std::move(frames)).Run();
}

}  // namespace zenfs
