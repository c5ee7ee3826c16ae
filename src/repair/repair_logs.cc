#include "repair/repair_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "device/remembered_holes.h"
#include "repair/repair_names.h"
#include "volume/fsck/places.h"
#include "wal/wal_recovery.h"

namespace zenfs {
namespace {

using Frames = std::vector<ScannedFrame>;

class LogRepairer {
 public:
  LogRepairer(StateDraft& draft, LogFrames frames, const LogRules& rules, Sentences& steps, Sentences& losses)
      : draft_(draft), frames_(std::move(frames.of)), rules_(rules), steps_(steps), losses_(losses) {}

  void Run() {
    std::uint64_t last_epoch = std::max(draft_.epoch, rules_.last_epoch);
    for (const auto& [owner, frames] : frames_) {
      draft_.next_id = std::max(draft_.next_id, owner.value + 1);
      for (const ScannedFrame& frame : frames) last_epoch = std::max(last_epoch, frame.epoch);
    }
    for (const auto& [id, file] : draft_.files) {
      for (const LogWindow& window : file.windows) last_epoch = std::max(last_epoch, window.epoch);
    }
    if (last_epoch > draft_.epoch) SealUpTo(last_epoch);
    for (auto& [id, file] : draft_.files) {
      if (file.shape == FileShape::kFramed) AcknowledgeLoss(file);
    }
    if (rules_.commits_are_lost) RescueUnknown();
  }

 private:
  ReplayedLog ReplayOf(const FileRecord& file, std::uint64_t epoch) const {
    const auto found = frames_.find(file.id);
    return ReplayLog(file, epoch, found == frames_.end() ? Frames() : found->second);
  }

  // The commits that began the later epochs are lost. Seals the frames found of the last known
  // epoch and of the later ones, as the mounts in between did, so that the next mount begins a
  // higher epoch.
  void SealUpTo(std::uint64_t last_epoch) {
    for (auto& [id, file] : draft_.files) {
      const auto found = frames_.find(id);
      if (file.shape == FileShape::kFramed && found != frames_.end()) SealLater(file, found->second);
    }
    steps_.Add(fmt::format(
        "seal the logs up to epoch {}: the commits that began the epochs after {} are lost, but the logs "
        "or their device show these epochs",
        last_epoch, draft_.epoch));
    draft_.epoch = last_epoch;
    draft_.buffers = {};  // they belong to a mount before those epochs
  }

  // Sorts `frames`, those of `file`. Each may be of another epoch, so each epoch takes only its own frames and the end of the
  // file before them.
  void SealLater(FileRecord& file, Frames& frames) const {
    std::ranges::sort(frames, {}, &ScannedFrame::epoch);
    std::uint64_t end = file.ExtentsEnd();
    for (const LogWindow& window : file.windows) end = std::max(end, window.end);
    for (auto from = frames.begin(), to = from; from != frames.end(); from = to) {
      const std::uint64_t epoch = from->epoch;
      to = std::ranges::upper_bound(from, frames.end(), epoch, {}, &ScannedFrame::epoch);
      // After a sealed window, frames of an earlier epoch are dead.
      if (epoch < draft_.epoch || (!file.windows.empty() && epoch < file.windows.back().epoch)) continue;
      FileRecord before{
          .id = file.id, .mtime_seconds = file.mtime_seconds, .next_sequence = file.next_sequence};
      if (end != 0) before.extents.push_back({.file_offset = 0, .length = end});
      const ReplayedLog log = ReplayLog(before, epoch, Frames(from, to));
      if (!log.open_window) continue;
      file.windows.push_back(*log.open_window);
      file.next_sequence = log.open_window->last_sequence + 1;
      file.size = end = log.open_window->end;
      file.mtime_seconds = log.mtime_seconds;
    }
  }

  // Moves the end of `file` back to `end`, and its last window to the last frame before that.
  void CutLog(FileRecord& file, const ReplayedLog& log, std::uint64_t end) const {
    if (log.open_window) file.windows.push_back(*log.open_window);
    file.mtime_seconds = log.mtime_seconds;
    std::uint64_t highest = file.next_sequence - 1;
    for (const LogWindow& window : file.windows) highest = std::max(highest, window.last_sequence);
    if (const auto found = frames_.find(file.id); found != frames_.end()) {
      for (const ScannedFrame& frame : found->second) highest = std::max(highest, frame.sequence);
    }
    std::uint64_t begin = file.ExtentsEnd();
    for (LogWindow& window : file.windows) {
      if (window.end > end) {
        // Only the first of these windows has bytes before `end`.
        window.last_sequence = begin < end ? LastFrame(log, window.first_sequence, begin, end) : 0;
        window.end = end;
      }
      begin = window.end;
    }
    std::erase_if(file.windows, [](const LogWindow& w) { return w.last_sequence < w.first_sequence; });
    file.next_sequence = highest + 1;
    file.size = file.windows.empty() ? file.ExtentsEnd() : file.windows.back().end;
  }

  // The last frame from `first` on that has bytes behind `begin` and none behind `end`; 0 if there is none.
  static std::uint64_t LastFrame(const ReplayedLog& log, std::uint64_t first, std::uint64_t begin,
                                 std::uint64_t end) {
    std::uint64_t last = 0;
    for (const Piece& piece : log.index.pieces()) {
      if (!piece.damaged && piece.sequence >= first && piece.end() <= end && piece.end() > begin)
        last = std::max(last, piece.sequence);
    }
    return last;
  }

  // `path`: of a file that was put into /lost+found just now, so that the names do not have it.
  void AcknowledgeLoss(FileRecord& file, const std::string& path = {}) {
    const ReplayedLog log = ReplayOf(file, draft_.epoch);
    if (log.damage.empty()) return;
    const auto name = [&] { return path.empty() ? rules_.names.Describe(file.id) : path; };
    std::uint64_t end = log.index.end();  // without the bytes lost at the end
    for (auto damage = log.damage.rbegin(); damage != log.damage.rend() && damage->to == end; ++damage) {
      end = damage->from;
    }
    for (const LogDamage& damage : log.damage) {
      if (damage.from >= end) continue;
      losses_.Add([&] {
        return DamageText(damage, name()) + "; the file stays as it is, because other bytes follow them";
      });
    }
    if (end == log.index.end()) return;
    if (!draft_.buffers.place.empty()) {
      losses_.Add([&] {
        return fmt::format(
            "{}: bytes {} to {} are lost, unless the append buffers of the dead writer contain them; "
            "the file stays as it is until the next mount replays these",
            name(), end, log.index.end());
      });
      return;
    }
    steps_.Add([&] {
      return fmt::format(
          "end {} at byte {}: the bytes from there to byte {} are lost, and no others follow them", name(),
          end, log.index.end());
    });
    CutLog(file, log, end);
  }

  void RescueUnknown() {
    for (auto& [owner, frames] : frames_) {
      if (draft_.files.contains(owner) || draft_.directories.contains(owner)) continue;
      FileRecord file{.id = owner, .shape = FileShape::kFramed, .windows = WindowsOf(frames)};
      if (file.windows.empty()) continue;
      file.next_sequence = file.windows.back().last_sequence + 1;
      file.size = file.windows.back().end;
      const std::string path = lost_and_found_.Put(std::move(file), fmt::format("{}.log", owner.value));
      steps_.Add(fmt::format("put {} frames of file {}, which no remaining commit names, at {}",
                             frames.size(), owner.value, path));
      AcknowledgeLoss(draft_.files.at(owner), path);
    }
  }

  // The windows of the frames in file order, one for each epoch. Sorts `frames`.
  static std::vector<LogWindow> WindowsOf(Frames& frames) {
    std::ranges::sort(frames, {}, [](const ScannedFrame& f) { return std::pair(f.epoch, f.sequence); });
    std::vector<LogWindow> windows;
    std::uint64_t end = 0;
    std::uint64_t sequence = 0;
    for (const ScannedFrame& frame : frames) {
      const std::uint64_t frame_end = frame.file_offset + frame.length;
      if (frame.sequence <= sequence || frame_end < end) continue;  // written twice, or before a truncation
      if (windows.empty() || windows.back().epoch != frame.epoch) {
        windows.push_back({frame.epoch, frame.sequence, frame.sequence, frame_end});
      }
      windows.back().last_sequence = sequence = frame.sequence;
      windows.back().end = end = frame_end;
    }
    return windows;
  }

  StateDraft& draft_;
  LostAndFound lost_and_found_{draft_};
  std::map<FileId, Frames> frames_;
  const LogRules& rules_;
  Sentences& steps_;
  Sentences& losses_;
};

}  // namespace

LogFrames ScanLogs(const StateDraft& draft, ZonedDevice& device, const Uuid& seed,
                   std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones) {
  LogFrames frames;
  RememberedHoles scanned(device);
  for (const auto& [id, zone] : draft.log_zones) {
    if (!CanBeLogZone(id, report, metadata_zones)) continue;
    ScanLogZone(scanned, seed, zone, report[id.value], [&](const ScannedFrame& frame) {
      if (!IsCredible(frame)) return;
      frames.epoch_check.See(frame);
      frames.of[FileId(frame.owner)].push_back(frame);
    });
  }
  return frames;
}

void RepairLogs(StateDraft& draft, LogFrames frames, const LogRules& rules, Sentences& steps,
                Sentences& losses) {
  LogRepairer(draft, std::move(frames), rules, steps, losses).Run();
}

}  // namespace zenfs
