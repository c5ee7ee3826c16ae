#include "wal/log_tails.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "device/presence.h"
#include "device/remembered_holes.h"

namespace zenfs {
namespace {

// For this long after a write pointer moved, each Update scans the unreadable bytes below it again: their
// write may not have been complete.
constexpr std::chrono::seconds kSettles{1};

// So many tails are kept whatever the files.
constexpr std::size_t kTailsMin = 16;

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
  for (const FileId owner : newer_) {
    if (const auto it = tails_.find(owner); it != tails_.end()) it->second.older = it->second.frames.size();
  }
  newer_.clear();
  // Seldom, because each read of a damaged log comes here.
  if (tails_.size() > 2 * state.files().size() + kTailsMin) {
    std::erase_if(tails_, [&](const auto& entry) {
      return entry.second.frames.empty() && state.FindFile(entry.first) != entry.second.record;
    });
  }
  std::vector<LogZone> zones;
  for (const auto& [id, zone] : allocated) {
    if (id.value < device_.geometry().zone_count) zones.push_back(zone);
  }
  // One report for each run of adjacent zones, and all before the first scan, so that less is written between them.
  std::vector<ZoneInfo> report;
  for (std::size_t from = 0, to = 0; from < zones.size(); from = to) {
    for (to = from + 1; to < zones.size() && zones[to - 1].zone.value + 1 == zones[to].zone.value;) ++to;
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> part,
                           device_.Report(zones[from].zone, static_cast<std::uint32_t>(to - from)));
    report.insert(report.end(), part.begin(), part.end());
  }
  return ScanAll(zones, report);
}

void LogTails::Forget(ZoneId id, const Zone& zone) {
  for (const FileId owner : zone.owners) {
    const auto it = tails_.find(owner);
    if (it == tails_.end()) continue;
    Tail& tail = it->second;
    const auto in_zone = [id](const ScannedFrame& frame) { return frame.zone == id; };
    tail.older -=
        static_cast<std::size_t>(std::ranges::count_if(tail.frames | std::views::take(tail.older), in_zone));
    std::erase_if(tail.frames, in_zone);
    tail.log = nullptr;
    if (tail.frames.empty()) tails_.erase(it);
  }
}

Status LogTails::ScanAll(const std::vector<LogZone>& zones, const std::vector<ZoneInfo>& report) {
  const PresenceMark mark = PresenceMark::Now(device_);
  RememberedHoles device(device_);
  for (std::size_t i = 0; i < zones.size(); ++i) ScanZone(device, zones[i], report[i]);
  Status present = mark.Check(device_);
  if (!present.ok()) {  // the next Update scans all anew
    zones_.clear();
    tails_.clear();
    newer_.clear();
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
        if (tail.older == tail.frames.size()) newer_.push_back(FileId(frame.owner));
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
                                                 std::uint64_t epoch, Evidence evidence) {
  Tail& tail = tails_[record->id];
  if (evidence == Evidence::kOlder && tail.older < tail.frames.size()) {
    std::vector<ScannedFrame> frames = tail.frames;
    // Those in a sync zone are found anew by each Update.
    for (ScannedFrame& frame : frames | std::views::drop(tail.older)) {
      if (!zones_.at(frame.zone).sync_blocks) frame.stable_sequence = 0;
    }
    return std::make_shared<const ReplayedLog>(ReplayLog(*record, epoch, std::move(frames)));
  }
  if (tail.log == nullptr || tail.record != record || tail.epoch != epoch) {
    tail.log = std::make_shared<const ReplayedLog>(ReplayLog(*record, epoch, tail.frames));
    tail.record = record;
    tail.epoch = epoch;
  }
  return tail.log;
}

}  // namespace zenfs
