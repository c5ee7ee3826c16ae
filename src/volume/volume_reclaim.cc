// Moving live data together: how reclaim finds files by the zones they lie in, changes them beside those who use them,
// and tells those who have them open.
#include <fmt/format.h>

#include <algorithm>

#include "volume/volume_core.h"

namespace zenfs {
namespace {

// Files looked at under one hold of the catalog's lock.
constexpr std::size_t kBucketsALook = 4096;
// What somebody changes just now is come back to.
constexpr std::chrono::nanoseconds kNoWait{0};

bool LiesIn(const FileRecord& file, ZoneId zone, const Geometry& geometry) {
  return std::ranges::any_of(file.extents,
                             [&](const Extent& extent) { return geometry.ZoneOf(extent.place) == zone; });
}

}  // namespace

void VolumeCore::MakeReclaim() {
  copy_sink_ = MakeZoneExtentSink(*zones_, WritePurpose::kReclaim);
  mover_ = std::make_unique<ExtentMover>(MoverEnv());
  reclaimer_ = std::make_unique<Reclaimer>(
      Reclaimer::Env{.zones = zones_.get(),
                     .block_size = geometry_.block_size,
                     .log = [this] { return LookAtLog(); },
                     .empty = [this](const Victim& victim) { return EmptyVictim(victim); },
                     .is_held = [this](ZoneId zone) { return IsHeld(zone); },
                     .borrow = [this] { return log_->supply().GiveBackReady(); },
                     .can_commit = [this] { return metalog_->health().ok(); },
                     .finish_up = [this] { return RetryTelling(); }});
}

Reclaimer::LogView VolumeCore::LookAtLog() {
  static_cast<void>(log_->supply().ReleaseDead());
  Reclaimer::LogView view;
  if (!logs_ready_) return view;
  view.zones = log_->zones().Zones();
  std::map<ZoneId, std::uint64_t> known;
  for (const std::shared_ptr<FramedFile>& file : logs_.All()) {
    FramesOfFile frames = file->FrameZones();
    for (const auto& [zone, live] : frames) known[zone] += live.device_bytes;
    if (!frames.empty()) view.files.push_back(std::move(frames));
  }
  for (LogZoneStatus& zone : view.zones) zone.held = zone.held || zone.live.device_bytes > known[zone.zone];
  return view;
}

Status VolumeCore::EmptyVictim(const Victim& victim) {
  switch (victim.kind) {
    case Victim::Kind::kData:
      return MoveOut(victim.zone, [this](std::chrono::nanoseconds piece) { reclaimer_->Pause(piece); });
    case Victim::Kind::kActive:
      if (zones_->FinishActive(victim.zone)) return {};
      return Fail(Code::kBusy, fmt::format("zone {} is being written", victim.zone.value));
    case Victim::Kind::kLog: break;
  }
  log_->zones().NoteCleaning(victim.zone);
  const Status cleaned = FoldZone(victim.zone);
  static_cast<void>(log_->supply().ReleaseDead());
  return cleaned;
}

bool VolumeCore::IsHeld(ZoneId zone) const {
  MutexLock lock(files_mutex_);
  return std::ranges::any_of(open_files_, [zone](const auto& entry) {
    const std::shared_ptr<OpenFile> file = entry.second.lock();
    if (file == nullptr || !file->plain) return false;
    return (file->unlinked || file->writers.load() != 0) && file->plain->LiesIn(zone);
  });
}

// What such a commit takes at most, by the codec.
Status VolumeCore::MayCommitExtents(std::size_t extents) const {
  constexpr std::uint64_t kPerExtent = 40;
  constexpr std::uint64_t kPerCommit = 256;
  return metalog_->CheckRoom(2 * (kPerCommit + kPerExtent * extents));
}

ExtentMover::Env VolumeCore::MoverEnv() {
  return {.device = device_.get(),
          .zones = zones_.get(),
          .sink = copy_sink_.get(),
          .files_in = [this](ZoneId zone) { return FilesIn(zone); },
          .with_file = [this](FileId id, const auto& body) { return WithUnwrittenFile(id, body); },
          .commit =
              [this](std::vector<Edit> edits) {
                return Commit(std::move(edits), {.data_since = copying_since_.load()});
              },
          .may_commit = [this](std::size_t extents) { return MayCommitExtents(extents); },
          .moved =
              [this](const FileRecord& before, const std::vector<Extent>& extents) {
                const bool told = TellMoved(before, extents);
                if (!told) NoteUntold(before.id);
                return told;
              }};
}

Status VolumeCore::EmptyZone(ZoneId zone) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  const ZoneStatus status = zone.value < geometry_.zone_count ? zones_->Zone(zone) : ZoneStatus{};
  // Not an active zone: the copies could go to its own end.
  if (status.phase != ZonePhase::kFull && status.phase != ZonePhase::kRetired) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: zone {} is not a full zone of file data", device_name_, zone.value));
  }
  return MoveOut(zone);
}

Status VolumeCore::MoveOut(ZoneId zone, const ExtentMover::Pause& pause) {
  MutexLock lock(mover_mutex_);
  copying_since_ = FlushMark::Now(*device_);
  Status moved = mover_->MoveOut(zone, pause);
  if (!moved.ok() && moved.error().code() == Code::kCorruption) {
    MutexLock leaf(health_mutex_);
    std::string text = moved.error().ToString();
    if (std::ranges::find(damage_, text) == damage_.end()) damage_.push_back(std::move(text));
  }
  return moved;
}

std::vector<std::string> VolumeCore::notices() const {
  MutexLock lock(health_mutex_);
  std::vector<std::string> all = notices_;
  all.insert(all.end(), damage_.begin(), damage_.end());
  return all;
}

// In parts, so that nobody who opens or names a file waits for a walk over all of them. A file that comes meanwhile is
// not in a full zone, or is looked for again; one that was seen twice because the table grew is moved once.
std::vector<std::shared_ptr<const FileRecord>> VolumeCore::FilesIn(ZoneId zone) const {
  std::vector<std::shared_ptr<const FileRecord>> in;
  std::size_t buckets = 0;
  for (std::size_t bucket = 0; bucket == 0 || bucket < buckets;) {
    catalog_->Look([&](const CatalogView& view) {
      const auto& files = view.state().files();
      if (files.bucket_count() != buckets) {
        buckets = files.bucket_count();
        bucket = 0;
        in.clear();
      }
      const std::size_t end = std::min(buckets, bucket + kBucketsALook);
      for (; bucket < end; ++bucket) {
        for (auto it = files.begin(bucket); it != files.end(bucket); ++it) {
          if (LiesIn(*it->second, zone, geometry_)) in.push_back(it->second);
        }
      }
    });
    if (buckets == 0) break;
  }
  return in;
}

Status VolumeCore::WithFreeFile(FileId id, std::chrono::nanoseconds wait,
                                const std::function<Status(const FileRecord&)>& body) {
  std::shared_ptr<const FileRecord> record;
  const Catalog::Planner reserve = [&](const CatalogView& view, ReservationKeys& keys) -> Status {
    record = view.state().FindFile(id);
    if (record == nullptr)
      return Fail(Code::kBusy, fmt::format("file {} is gone or not committed yet", id.value));
    keys.exclusive.push_back(id);
    return {};
  };
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action, catalog_->Begin(reserve, Deadline::After(wait)));
  return body(*record);
}

// A file that is open for writing is left alone: its writer may hold it while it waits for the space that is being made.
Status VolumeCore::WithUnwrittenFile(FileId id, const std::function<Status(const FileRecord&)>& body) {
  return WithFreeFile(id, kNoWait, [&](const FileRecord& record) -> Status {
    if (record.shape == FileShape::kFramed && !logs_ready_) {
      return Fail(Code::kBusy, fmt::format("file {} is being recovered", id.value));
    }
    const std::shared_ptr<OpenFile> file = FindOpen(id);
    if (file != nullptr && file->plain && file->writers.load() != 0) {
      return Fail(Code::kBusy, fmt::format("file {} is being written", id.value));
    }
    return body(record);
  });
}

bool VolumeCore::TellMoved(const FileRecord& before, const std::vector<Extent>& extents) {
  if (before.shape == FileShape::kFramed) {
    if (const auto framed = logs_.Find(before.id)) framed->TakeMoved(extents);
    return true;
  }
  const std::shared_ptr<OpenFile> file = FindOpen(before.id);
  return file == nullptr || file->plain->TryReplaceCommitted(extents);
}

void VolumeCore::NoteUntold(FileId id) {
  MutexLock lock(untold_mutex_);
  untold_.insert(id);
}

// Until it is told, a file reads what it held before, which its pins keep.
bool VolumeCore::RetryTelling() {
  std::set<FileId> untold;
  {
    MutexLock lock(untold_mutex_);
    untold.swap(untold_);
  }
  for (const FileId id : untold) {
    const Status told = WithFreeFile(id, kNoWait, [&](const FileRecord& now) -> Status {
      if (TellMoved(now, now.extents)) return {};
      return Fail(Code::kBusy, "its writer is at work");
    });
    if (!told.ok() && catalog_->FindFile(id) != nullptr) NoteUntold(id);
  }
  MutexLock lock(untold_mutex_);
  return !untold_.empty();
}

}  // namespace zenfs
