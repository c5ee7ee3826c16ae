#include "wal/log_tails.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "base/assert.h"
#include "device/presence.h"
#include "device/remembered_holes.h"

namespace zenfs {
namespace {

// For this long after a write pointer moved, each Update scans the unreadable bytes below it again: their
// write may not have been complete.
constexpr std::chrono::seconds kSettles{1};

// So many zones further, a report is one command still. It costs little on all devices; of a zonefs, a look at each file.
constexpr std::uint32_t kNear = 8;

// So many tails are kept whatever the files.
constexpr std::size_t kTailsMin = 16;

}  // namespace

Status LogTails::Update(const State& state, std::uint64_t version) {
  if (version_ != version) {
    ZENFS_RETURN_IF_ERROR(CheckSyncZonesReadable(device_, state.log_zones()));
    TakeZones(state);
    version_ = version;
  }
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
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportZones());
  return ScanAll(report);
}

void LogTails::TakeZones(const State& state) {
  std::vector<Zone> taken;
  taken.reserve(state.log_zones().size());  // from here on nothing fails for lack of memory
  auto known = zones_.begin();
  for (const auto& [id, allocated] : state.log_zones()) {
    if (id.value >= device_.geometry().zone_count) break;
    for (; known != zones_.end() && known->allocated.zone < id; ++known) Forget(*known);
    const bool same = known != zones_.end() && known->allocated.zone == id &&
                      known->allocated.generation == allocated.generation;
    if (same) {
      taken.push_back(std::move(*known++));
      taken.back().allocated = allocated;  // it may have become a sync zone
    } else {
      taken.push_back({.allocated = allocated});
    }
  }
  for (; known != zones_.end(); ++known) Forget(*known);
  zones_ = std::move(taken);
}

void LogTails::Forget(const Zone& zone) {
  for (const FileId owner : zone.owners) {
    const auto it = tails_.find(owner);
    if (it == tails_.end()) continue;
    Tail& tail = it->second;
    const auto in_zone = [&zone](const ScannedFrame& frame) { return frame.zone == zone.allocated.zone; };
    tail.older -=
        static_cast<std::size_t>(std::ranges::count_if(tail.frames | std::views::take(tail.older), in_zone));
    std::erase_if(tail.frames, in_zone);
    tail.log = nullptr;
    if (tail.frames.empty()) tails_.erase(it);
  }
}

const LogTails::Zone& LogTails::ZoneOf(ZoneId id) const {
  const auto it =
      std::ranges::lower_bound(zones_, id, {}, [](const Zone& zone) { return zone.allocated.zone; });
  ZENFS_ASSERT(it != zones_.end() && it->allocated.zone == id);
  return *it;
}

// One report for each run of near zones, and all before the first scan, so that less is written between them.
Result<std::vector<ZoneInfo>> LogTails::ReportZones() {
  std::vector<ZoneInfo> report;
  report.reserve(zones_.size());
  const auto number = [this](std::size_t i) { return zones_[i].allocated.zone.value; };
  for (std::size_t from = 0, to = 0; from < zones_.size(); from = to) {
    for (to = from + 1; to < zones_.size() && number(to) - number(to - 1) <= kNear;) ++to;
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> run,
                           device_.Report(ZoneId(number(from)), number(to - 1) - number(from) + 1));
    for (std::size_t i = from; i < to; ++i) report.push_back(run[number(i) - number(from)]);
  }
  return report;
}

Status LogTails::ScanAll(std::span<const ZoneInfo> report) {
  const PresenceMark mark = PresenceMark::Now(device_);
  RememberedHoles device(device_);
  for (std::size_t i = 0; i < zones_.size(); ++i) ScanZone(device, report[i], zones_[i]);
  Status present = mark.Check(device_);
  if (!present.ok()) {  // the next Update scans all anew
    version_.reset();
    zones_.clear();
    tails_.clear();
    newer_.clear();
  }
  return present;
}

void LogTails::ScanZone(ZonedDevice& device, const ZoneInfo& info, Zone& zone) {
  const bool sync_blocks = SyncBytes(device_.geometry(), zone.allocated, info) != 0;
  if (sync_blocks || zone.sync_blocks) {
    Forget(zone);
    zone = Zone{.allocated = zone.allocated, .sync_blocks = sync_blocks};
    if (sync_blocks) return ScanFrom(device, info, zone);
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
  ScanFrom(device, info, zone);
}

void LogTails::ScanFrom(ZonedDevice& device, const ZoneInfo& info, Zone& zone) {
  std::set<DeviceOffset> behind_hole;
  std::optional<std::uint64_t> hole;
  const std::uint64_t end = ScanLogZone(
      device, volume_, zone.allocated, info,
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
      if (!ZoneOf(frame.zone).sync_blocks) frame.stable_sequence = 0;
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
