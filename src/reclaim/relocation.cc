#include "reclaim/relocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace zenfs {
namespace {

// A locked file is tried again later: the thread that holds the lock may wait for the room that this makes.
constexpr std::chrono::nanoseconds kNoWait{0};

}  // namespace

Relocation::Relocation(const Deps& deps)
    : deps_(deps),
      mover_({.device = deps.device,
              .zones = deps.zones,
              .files = *this,
              .logs = deps.logs,
              .sink = deps.sink,
              .log_sink = deps.log_sink,
              .cleaned = deps.written.cleaned,
              .device_copy = deps.device_copy}) {}

ReclaimTarget::LogView Relocation::LookAtLog() {
  static_cast<void>(deps_.log.supply().ReleaseDead());
  LogView view;
  if (!logs_recovered_) return view;
  view.complete = true;
  view.zones = deps_.log.zones().Zones();
  std::map<ZoneId, std::uint64_t> known;
  std::vector<std::shared_ptr<FramedFile>> files = deps_.logs.All();
  for (std::shared_ptr<FramedFile>& deleted : DeletedLogs()) {
    if (std::ranges::find(files, deleted) == files.end()) files.push_back(std::move(deleted));
  }
  for (const std::shared_ptr<FramedFile>& file : files) {
    FramesOfFile frames = file->FrameZones();
    for (const auto& [zone, live] : frames) known[zone] += live.device_bytes;
    if (!frames.empty()) view.files.push_back(std::move(frames));
  }
  for (LogZoneStatus& zone : view.zones) zone.held = zone.held || zone.live.device_bytes > known[zone.zone];
  return view;
}

Status Relocation::Empty(const Victim& victim, const ZoneMover::Pause& pause) {
  Status emptied = EmptyVictim(victim, pause);
  deps_.accounting.Publish();  // also if nobody writes meanwhile
  return emptied;
}

Status Relocation::EmptyVictim(const Victim& victim, const ZoneMover::Pause& pause) {
  switch (victim.kind) {
    case Victim::Kind::kData: return Move([&] { return mover_.MoveExtents(victim.zone, pause); });
    case Victim::Kind::kActive:
      if (deps_.zones.reclaim().FinishActive(victim.zone)) return {};
      return Fail(Code::kBusy, fmt::format("zone {} is being written", victim.zone.value));
    case Victim::Kind::kLog: break;
  }
  const std::vector<ZoneId> group = GroupOf(victim);
  deps_.log.zones().NoteCleaning(group);
  const Status cleaned = Move([&] { return mover_.MoveFrames(group, pause); });
  static_cast<void>(deps_.log.supply().ReleaseDead());
  return cleaned;
}

Status Relocation::EmptyZone(ZoneId zone) {
  const bool exists = zone.value < deps_.device.geometry().zone_count;
  const ZoneStatus status = exists ? deps_.zones.Zone(zone) : ZoneStatus{};
  // An active zone is refused, because the copies could go to its own end.
  if (status.phase != ZonePhase::kFull && status.phase != ZonePhase::kRetired) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: zone {} is not a full zone of file data", deps_.device.name(), zone.value));
  }
  return Move([&] { return mover_.MoveExtents(zone); });
}

Status Relocation::Move(const std::function<Status()>& move) {
  MutexLock lock(mover_mutex_);
  copying_since_ = FlushMark::Now(deps_.device);
  Status moved = move();
  NoteDamage(moved);
  return moved;
}

void Relocation::NoteDamage(const Status& status) {
  if (status.ok() || status.error().code() != Code::kCorruption) return;
  MutexLock lock(mutex_);
  std::string text = status.error().ToString();
  if (std::ranges::find(damage_, text) == damage_.end()) damage_.push_back(std::move(text));
}

std::vector<std::string> Relocation::damage() const {
  MutexLock lock(mutex_);
  return damage_;
}

// A file that is created meanwhile is not in a full zone, or is found by the next search.
std::vector<std::shared_ptr<const FileRecord>> Relocation::FilesIn(ZoneId zone) const {
  const Geometry& geometry = deps_.device.geometry();
  const DeviceOffset begin = geometry.ZoneStart(zone);
  return deps_.catalog.FilesIn(begin, begin + geometry.zone_size);
}

std::vector<ZoneId> Relocation::GroupOf(const Victim& victim) const {
  std::vector<ZoneId> group;
  for (const LogZoneStatus& zone : deps_.log.zones().Zones()) {
    if (zone.generation == victim.generation && zone.closed) group.push_back(zone.zone);
  }
  return group;
}

std::uint64_t Relocation::RestatedBytes(const Victim& victim) const {
  std::uint64_t bytes = 0;
  if (victim.kind != Victim::Kind::kLog) {
    for (const auto& file : FilesIn(victim.zone))
      bytes += zenfs::RestatedBytes(*file, victim.zone, deps_.device.geometry());
    return bytes;
  }
  const std::vector<ZoneId> group = GroupOf(victim);
  for (const auto& file : deps_.logs.All()) bytes += zenfs::RestatedBytes(*file, group);
  return bytes;
}

Status Relocation::WithLockedFile(FileId id, const std::function<Status(const FileRecord&)>& body) {
  std::shared_ptr<const FileRecord> record;
  const Catalog::Planner lock_file = [&](const CatalogView& view, LockKeys& keys) -> Status {
    record = view.state().FindFile(id);
    if (record == nullptr)
      return Fail(Code::kBusy, fmt::format("file {} is gone or not committed yet", id.value));
    keys.exclusive.push_back(id);
    return {};
  };
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.Begin(lock_file, Deadline::After(kNoWait)));
  return body(*record);
}

// A file that is open for writing is skipped: its writer may hold it while it waits for the space that is being made.
Status Relocation::WithFile(FileId id, const std::function<Status(const FileRecord&)>& body) {
  return WithLockedFile(id, [&](const FileRecord& record) -> Status {
    if (!logs_recovered_ && (record.shape == FileShape::kFramed || recovering_.contains(id))) {
      return Fail(Code::kBusy, fmt::format("file {} is being recovered", id.value));
    }
    const std::shared_ptr<OpenFile> file = deps_.files.Find(id);
    if (file != nullptr && !file->MovesWhileWritten() && file->writers.load() != 0) {
      return Fail(Code::kBusy, fmt::format("file {} is being written", id.value));
    }
    return body(record);
  });
}

Status Relocation::CommitMoved(std::vector<Edit> edits) {
  return deps_.commits.Commit(std::move(edits), {.data_since = copying_since_.load()});
}

Status Relocation::CheckRoomForExtents(std::size_t extents) const {
  return deps_.commits.CheckRoomForExtents(extents);
}

bool Relocation::NoteMoved(const FileRecord& before, const std::vector<Extent>& extents) {
  const bool told = Tell(before, extents);
  if (!told) AddPending(before.id);
  return told;
}

// Does not wait for the lock of the file: the thread that has it may wait for the room that this makes.
Status Relocation::WithDeletedLog(FileId id, const std::function<Status()>& body) {
  const Catalog::Planner lock_file = [&](const CatalogView&, LockKeys& keys) -> Status {
    keys.exclusive.push_back(id);
    return {};
  };
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.Begin(lock_file, Deadline::After(kNoWait)));
  return body();
}

Status Relocation::SettleDeleted(const std::vector<Extent>& copies) {
  ZENFS_RETURN_IF_ERROR(deps_.commits.Commit({}, {.data_since = copying_since_.load()}));  // only flushes
  deps_.zones.AddLive(copies);
  return deps_.zones.RemoveLive(copies) ? Status() : deps_.zones.health();
}

bool Relocation::Tell(const FileRecord& before, const std::vector<Extent>& extents) {
  if (const auto log = deps_.logs.Find(before.id)) {  // it is there without a handle, too
    log->TakeMoved(extents);
    return true;
  }
  const std::shared_ptr<OpenFile> file = deps_.files.Find(before.id);
  return file == nullptr || file->TakeMoved(extents);
}

void Relocation::AddPending(FileId id) {
  MutexLock lock(mutex_);
  pending_.insert(id);
}

bool Relocation::FinishUp() {
  std::set<FileId> pending;
  {
    MutexLock lock(mutex_);
    pending.swap(pending_);
  }
  for (const FileId id : pending) {
    const Status told = WithLockedFile(id, [&](const FileRecord& now) -> Status {
      if (Tell(now, now.extents)) return {};
      return Fail(Code::kBusy, "its writer is at work");
    });
    if (!told.ok() && deps_.catalog.FindFile(id) != nullptr) AddPending(id);
  }
  MutexLock lock(mutex_);
  return !pending_.empty();
}

}  // namespace zenfs
