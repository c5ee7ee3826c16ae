#include "wal/log_tails.h"

#include <algorithm>
#include <chrono>

#include "device/presence.h"
#include "device/remembered_holes.h"

namespace zenfs {
namespace {

// For this long after a write pointer moved, each Update scans the unreadable bytes below it again: their
// write may not have been complete.
constexpr std::chrono::seconds kSettles{1};

}  // namespace

Status LogTails::Update(const State& state) {
  const std::map<ZoneId, LogZone>& allocated = state.log_zones();
  ZENFS_RETURN_IF_ERROR(CheckSyncZonesReadable(device_, allocated));
  std::erase_if(zones_, [&](const auto& entry) {
    const auto it = allocated.find(entry.first);
    if (it != allocated.end() && it->second.generation == entry.second.generation) return false;
    Forget(entry.first, entry.second);
    return true;
  });
  // One report for each run of adjacent zones.
  std::vector<LogZone> run;
  for (const auto& [id, zone] : allocated) {
    if (id.value >= device_.geometry().zone_count) continue;
    if (!run.empty() && run.back().zone.value + 1 != id.value) {
      ZENFS_RETURN_IF_ERROR(Scan(run));
      run.clear();
    }
    run.push_back(zone);
  }
  return run.empty() ? Status() : Scan(run);
}

void LogTails::Forget(ZoneId id, const Zone& zone) {
  for (const FileId owner : zone.owners) {
    const auto it = tails_.find(owner);
    if (it == tails_.end()) continue;
    std::erase_if(it->second.frames, [id](const ScannedFrame& frame) { return frame.zone == id; });
    it->second.log = nullptr;
    if (it->second.frames.empty()) tails_.erase(it);
  }
}

Status LogTails::Scan(const std::vector<LogZone>& run) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report,
                         device_.Report(run.front().zone, static_cast<std::uint32_t>(run.size())));
  const PresenceMark mark = PresenceMark::Now(device_);
  RememberedHoles device(device_);
  for (std::size_t i = 0; i < run.size(); ++i) ScanZone(device, run[i], report[i]);
  Status present = mark.Check(device_);
  if (!present.ok()) {  // the next Update scans all anew
    zones_.clear();
    tails_.clear();
  }
  return present;
}

void LogTails::ScanZone(ZonedDevice& device, const LogZone& allocated, const ZoneInfo& info) {
  Zone& zone = zones_.try_emplace(allocated.zone, Zone{.generation = allocated.generation}).first->second;
  const bool sync_blocks = SyncBytes(device_.geometry(), allocated, info) != 0;
  if (sync_blocks || zone.sync_blocks) {
    Forget(allocated.zone, zone);
    zone = Zone{.generation = allocated.generation, .sync_blocks = sync_blocks};
    if (sync_blocks) return ScanFrom(device, allocated, info, zone);
  }
  const std::uint64_t written = info.WrittenBytes();
  // A zone that became shorter was reset. Its release is in the metadata log and will be seen soon.
  if (written < zone.written || written == zone.scanned) return;
  if (written > zone.written) {
    zone.written = written;
    zone.grown = SteadyNow();
  } else if (SteadyNow() - zone.grown > kSettles || written - zone.scanned > kMaxFramePayload) {
    return;
  }
  ScanFrom(device, allocated, info, zone);
}

void LogTails::ScanFrom(ZonedDevice& device, const LogZone& allocated, const ZoneInfo& info, Zone& zone) {
  std::set<DeviceOffset> behind_hole;
  std::optional<std::uint64_t> hole;
  const std::uint64_t end = ScanLogZone(
      device, volume_, allocated, info,
      [&](const ScannedFrame& frame) {
        if (hole) behind_hole.insert(frame.payload);
        if (zone.holes.known.contains(frame.payload)) return;
        Tail& tail = tails_[FileId(frame.owner)];
        tail.frames.push_back(frame);
        tail.log = nullptr;
        zone.owners.insert(FileId(frame.owner));
      },
      zone.scanned,
      [&](std::uint64_t at, const ParsedFrame&) {
        if (!hole && at >= zone.holes.given_up_to) hole = at;
      });
  zone.scanned = NextScan(zone.holes, hole, end);
  zone.holes.known = std::move(behind_hole);
}

std::uint64_t LogTails::NextScan(Holes& holes, std::optional<std::uint64_t> hole, std::uint64_t end) {
  if (!hole || *hole >= end) {
    holes.doubted_to = 0;
    return end;
  }
  if (holes.doubted_to == 0 || *hole >= holes.doubted_to) {
    holes.doubted_to = end;
    holes.since = SteadyNow();
  } else if (SteadyNow() - holes.since > kSettles) {
    holes.given_up_to = holes.doubted_to;
  }
  return *hole;
}

std::shared_ptr<const ReplayedLog> LogTails::Log(const std::shared_ptr<const FileRecord>& record,
                                                 std::uint64_t epoch) {
  const auto it = tails_.find(record->id);
  if (it == tails_.end()) return std::make_shared<const ReplayedLog>(ReplayLog(*record, epoch, {}));
  Tail& tail = it->second;
  if (tail.log == nullptr || tail.record != record || tail.epoch != epoch) {
    tail.log = std::make_shared<const ReplayedLog>(ReplayLog(*record, epoch, tail.frames));
    tail.record = record;
    tail.epoch = epoch;
  }
  return tail.log;
}

}  // namespace zenfs
