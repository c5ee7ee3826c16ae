#include "volume/mount/log_recovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/presence.h"
#include "device/remembered_holes.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/log_losses.h"
#include "wal/wal_recovery.h"

namespace zenfs {

Result<RecoveredLogs> ReplayLogs(MountedDevice& device, const State& state, std::span<const ZoneInfo> report,
                                 const std::set<FileId>& plain_tails) {
  const auto is_log = [&](const FileRecord& record) {
    return record.shape == FileShape::kFramed || plain_tails.contains(record.id);
  };
  ZENFS_RETURN_IF_ERROR(CheckSyncZonesReadable(*device.device, state.log_zones()));
  EpochCheck epoch_check;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames;
  std::vector<ZoneId> offline;
  RememberedHoles scanned(*device.device);
  for (const auto& [id, zone] : state.log_zones()) {
    // Before anything is written; also for what the mount read until now.
    ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*device.device));
    if (report[id.value].condition == ZoneCondition::kOffline) offline.push_back(id);
    ScanLogZone(scanned, device.superblock.seed, zone, report[id.value], [&](const ScannedFrame& frame) {
      epoch_check.See(frame);
      const auto record = state.FindFile(FileId(frame.owner));
      if (record != nullptr && is_log(*record)) frames[record->id].push_back(frame);
    });
  }
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*device.device));
  if (epoch_check.SawBehind(state.epoch())) {
    return Fail(
        Code::kCorruption,
        fmt::format(
            "{}: {}; zenfs check --repair rebuilds the metadata from the log, a read-only mount (?ro) "
            "shows the volume without the lost commits",
            device.name, epoch_check.Text(state.epoch())));
  }
  RecoveredLogs replayed;
  for (const auto& [id, record] : state.files()) {
    if (!is_log(*record)) continue;
    replayed.emplace(id, ReplayLog(*record, state.epoch(), std::move(frames[id])));
  }
  const bool damaged =
      std::ranges::any_of(replayed, [](const auto& entry) { return !entry.second.damage.empty(); });
  if (!damaged && offline.empty()) return replayed;
  const LogLosses lost = FindLogLosses(device.name, device.geometry, state, FileNames(state), offline,
                                       [&](FileId id) -> const ReplayedLog* {
                                         const auto it = replayed.find(id);
                                         return it == replayed.end() ? nullptr : &it->second;
                                       });
  for (const Finding& finding : lost.findings) device.notices.push_back(finding.text);
  if (const std::string rest = lost.findings.OmittedText(); !rest.empty())
    device.notices.push_back(fmt::format("{}: {}", device.name, rest));
  return replayed;
}

std::vector<Edit> SealEdits(const RecoveredLogs& logs, const State& state,
                            const std::set<FileId>& taken_over) {
  std::vector<Edit> edits;
  for (const auto& [id, log] : logs) {
    const auto record = state.FindFile(id);
    const bool becomes_framed = record->shape == FileShape::kPlain && taken_over.contains(id);
    if (!log.open_window && !becomes_framed) continue;
    SealLog seal{.id = id,
                 .windows = record->windows,
                 .next_sequence = record->next_sequence,
                 .size = record->size,
                 .mtime_seconds = log.mtime_seconds};
    if (log.open_window) {
      seal.windows.push_back(*log.open_window);
      seal.next_sequence = log.open_window->last_sequence + 1;
      seal.size = log.open_window->end;
    }
    edits.push_back(std::move(seal));
  }
  return edits;
}

}  // namespace zenfs
