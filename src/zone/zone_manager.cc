#include "zone/zone_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "base/sync_point.h"
#include "model/state.h"
#include "zone/reset_finish_queue.h"
#include "zone/spread.h"

namespace zenfs {

// --- mount ---

Result<std::unique_ptr<ZoneManager>> ZoneManager::Create(ZonedDevice& device, const SlotPlan& plan,
                                                         std::vector<ZoneInfo> report, Options options) {
  const Geometry& geometry = device.geometry();
  if (report.size() != geometry.zone_count) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: the zone report covers {} of {} zones",
                                                    device.name(), report.size(), geometry.zone_count));
  }
  for (std::uint32_t i = 0; i < report.size(); ++i) {
    if (report[i].id != ZoneId(i) || report[i].capacity > geometry.zone_size) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{}: entry {} of the zone report is zone {} with a capacity of {} bytes (zone size {})",
                      device.name(), i, report[i].id.value, report[i].capacity, geometry.zone_size));
    }
  }
  std::uint64_t largest = 0;
  for (const ZoneInfo& zone : report) {
    if (zone.type != ZoneType::kSequentialRequired || geometry.OnLogDevice(zone.id)) continue;
    largest = std::max(largest, zone.capacity);
  }
  const ZonePool::Setup setup{.geometry = geometry,
                              .plan = plan,
                              .log = options.log,
                              .headroom = options.headroom * largest,
                              .read_only = options.read_only,
                              .reclaims = options.reclaims,
                              .placement = options.placement};
  return std::unique_ptr<ZoneManager>(new ZoneManager(device, setup, report, options.metadata_zones));
}

ZoneManager::ZoneManager(ZonedDevice& device, const ZonePool::Setup& setup, std::span<const ZoneInfo> report,
                         std::span<const ZoneId> metadata_zones)
    : device_(device), setup_(setup), pool_(setup, report, metadata_zones) {}

ZoneManager::~ZoneManager() { Stop(); }

void ZoneManager::Adopt(const State& state) {
  MutexLock lock(mutex_);
  for (const auto& [id, zone] : state.log_zones()) pool_.AdoptLogZone(id);
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) pool_.AdoptExtent(extent, record->lifetime);
  }
}

Status ZoneManager::Start() {
  MutexLock lock(mutex_);  // the new thread waits for it until the zones are started
  if (!setup_.read_only) {
    ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-zones", [this] { RunResets(); }));
  }
  pool_.Start();
  return {};
}

void ZoneManager::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
    work_.NotifyAll();
    need_.NotifyAll();
  }
  thread_.Join();
}

bool ZoneManager::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

// --- allocation ---

Result<ZoneWriter> ZoneManager::AllocateData(ZoneClaim& claim, Lifetime lifetime, Deadline deadline,
                                             WritePurpose purpose, std::uint64_t wanted, std::uint64_t most) {
  if (setup_.read_only) return ReadOnly();
  MutexLock lock(mutex_);
  while (!stopped_) {
    ZENFS_RETURN_IF_ERROR(pool_.health());
    claim.zones_ = this;
    const ZoneAllocation allocated =
        pool_.AllocateData(claim.held_, lifetime, purpose, SteadyNow(), wanted, most);
    AnnounceJobs();
    if (allocated.outcome == AllocationOutcome::kAllocated) return WriterOf(allocated);
    ZENFS_RETURN_IF_ERROR(WaitFor(allocated, deadline));
  }
  return Stopped();
}

ZoneWriter ZoneManager::TryAllocateData(ZoneClaim& claim, Lifetime lifetime, WritePurpose purpose,
                                        std::uint64_t length) {
  ZoneWriter writer;
  {
    MutexLock lock(mutex_);
    if (setup_.read_only || stopped_ || !pool_.health().ok()) return {};
    claim.zones_ = this;
    const ZoneAllocation allocated =
        pool_.AllocateData(claim.held_, lifetime, purpose, SteadyNow(), length, length);
    AnnounceJobs();
    if (allocated.outcome == AllocationOutcome::kAllocated) writer = WriterOf(allocated);
  }
  return writer.room() < length ? ZoneWriter() : std::move(writer);
}

ZoneWriter ZoneManager::WriterOf(const ZoneAllocation& allocated) {
  ZoneWriter writer;
  writer.zones_ = this;
  writer.zone_ = allocated.zone;
  writer.place_ = setup_.geometry.ZoneStart(allocated.zone) + allocated.written;
  writer.room_ = allocated.room;
  return writer;
}

Result<ZoneId> ZoneManager::AllocateLogZone(Deadline deadline, LogZonePurpose purpose) {
  if (setup_.read_only) return ReadOnly();
  MutexLock lock(mutex_);
  while (!stopped_) {
    ZENFS_RETURN_IF_ERROR(pool_.health());
    const ZoneAllocation allocated = pool_.AllocateLogZone(purpose);
    AnnounceJobs();
    if (allocated.outcome == AllocationOutcome::kAllocated) return allocated.zone;
    const bool may_come = allocated.outcome != AllocationOutcome::kNoSpace;
    if (may_come && deadline.Passed()) {
      return Fail(Code::kTimedOut,
                  fmt::format("{}: no zone for the log became free in time", device_.name()));
    }
    if (purpose != LogZonePurpose::kAhead) pool_.LogWaits(true);
    const Status waited = WaitFor(allocated, deadline);
    if (purpose != LogZonePurpose::kAhead) pool_.LogWaits(false);
    ZENFS_RETURN_IF_ERROR(waited);
  }
  return Stopped();
}

std::vector<ZoneId> ZoneManager::AllocateMoreLogZones() {
  MutexLock lock(mutex_);
  if (stopped_ || !setup_.reclaims) return {};
  return pool_.AllocateMoreLogZones(log_group() - 1);
}

void ZoneManager::ReleaseLogZone(ZoneId zone) {
  MutexLock lock(mutex_);
  pool_.ReleaseLogZone(zone);
  Announce();
}

std::vector<ZoneInfo> ZoneManager::AllocateMetadataZones(std::size_t count) {
  std::vector<ZoneInfo> zones;
  MutexLock lock(mutex_);
  if (setup_.read_only || stopped_) return zones;
  for (const ZoneId zone : pool_.AllocateMetadataZones(count))
    zones.push_back({.id = zone, .capacity = pool_.table()[zone].capacity});
  return zones;
}

void ZoneManager::ReleaseMetadataZones(std::span<const ZoneId> zones) {
  MutexLock lock(mutex_);
  for (const ZoneId zone : zones) pool_.ReleaseMetadataZone(zone);
  Announce();
}

// --- waits ---

void ZoneManager::Announce() {
  if (waiters_ != 0) changed_.NotifyAll();
  AnnounceJobs();
  if (collector_waits_ && pool_.demand().Need()) need_.NotifyOne();
}

void ZoneManager::AnnounceJobs() {
  const ResetQueue& jobs = pool_.jobs();
  const bool rests = resets_rest_ == jobs.pushed() && MayRest();
  if (!jobs.empty() && !rests && !(resets_pause_ && ResetsCanWait())) work_.NotifyOne();
}

Status ZoneManager::WaitFor(const ZoneAllocation& none, Deadline deadline) {
  if (none.outcome == AllocationOutcome::kNoSpace) return NoSpace();
  const bool reclaim = none.outcome == AllocationOutcome::kWaitForReclaim ||
                       none.outcome == AllocationOutcome::kWaitForLogReclaim;
  if (deadline.Passed()) {
    // Space may be freed later, but not in time.
    if (reclaim || none.outcome == AllocationOutcome::kWaitForPins) return NoSpace();
    return Fail(
        Code::kTimedOut,
        fmt::format("{}: no zone became available in time; all are being written or reset", device_.name()));
  }
  Deadline until = deadline;
  if (none.retry_at < until.when()) until = Deadline::After(none.retry_at - SteadyNow());
  if (reclaim) {
    // With the lock held, so a handler must not call the zone manager.
    SyncPoint::Reach("ZoneManager::WaitFor:reclaim");
    pool_.demand().WaitsForReclaim(none.outcome, true);
    need_.NotifyOne();
  }
  ++waiters_;
  AnnounceJobs();
  // The caller tries again and finds out what changed.
  static_cast<void>(changed_.WaitUntil(mutex_, until));
  --waiters_;
  if (reclaim) pool_.demand().WaitsForReclaim(none.outcome, false);
  return {};
}

std::unexpected<Error> ZoneManager::NoSpace() const {
  const SpaceReport space = pool_.Space();
  const std::string apart = pool_.log_apart()
                                ? fmt::format(" ({} of its {} zones empty, one of them for a mount)",
                                              pool_.log_empty().all_after_resets(), setup_.geometry.log_zones)
                                : std::string();
  return Fail(Code::kNoSpace,
              fmt::format("{} is full: {} MiB live, {} MiB dead but not free yet, {} MiB kept for the log{}; "
                          "delete files to make room",
                          device_.name(), space.live >> 20, space.garbage >> 20, space.log >> 20, apart));
}

std::unexpected<Error> ZoneManager::Stopped() const {
  return Fail(Code::kShutdown, fmt::format("{} is being unmounted", device_.name()));
}

std::unexpected<Error> ZoneManager::ReadOnly() const {
  return Fail(Code::kReadOnly, fmt::format("{} is mounted read-only", device_.name()));
}

// --- accounting ---

void ZoneManager::AddLive(std::span<const Extent> extents) {
  MutexLock lock(mutex_);
  pool_.AddLive(extents);
}

bool ZoneManager::RemoveLive(std::span<const Extent> extents) {
  MutexLock lock(mutex_);
  pool_.RemoveLive(extents);
  Announce();
  return pool_.health().ok();
}

ZonePin ZoneManager::Pin(ZoneId zone) {
  if (zone.value >= setup_.geometry.zone_count) return {};
  MutexLock lock(mutex_);
  pool_.Pin(zone);
  return ZonePin(this, zone);
}

// --- resets ---

void ZoneManager::StopResets() {
  MutexLock lock(mutex_);
  pool_.StopResets();
  Announce();
}

Status ZoneManager::DrainResets(Deadline deadline) {
  if (setup_.read_only) return {};
  MutexLock lock(mutex_);
  pool_.ResetUnusedActives();
  ++waiters_;
  AnnounceJobs();
  bool in_time = true;
  while (in_time && !stopped_ && !pool_.jobs().idle()) in_time = changed_.WaitUntil(mutex_, deadline);
  --waiters_;
  if (pool_.jobs().idle()) return {};
  if (stopped_) return Stopped();
  return Fail(Code::kTimedOut,
              fmt::format("{}: zones are still being reset or finished at the deadline", device_.name()));
}

// --- the background thread ---
//
// It executes all resets and finishes of data zones, one at a time, outside the lock.
//
// A drive resets a zone with the bandwidth of its writes: a ZN540 loses a third of it at 30 resets a second. So while data is
// written, resets that can wait have pauses in between.
//
// A zone that a reader of this host uses (ZoneReaders) rests for kRest before its reset, so that the reader can go on
// reading a file that was deleted. It rests only while nothing could need it: no writer waits, and as many zones are empty as
// the collector wants. The others are reset at once.

namespace {

constexpr std::chrono::milliseconds kResetPause{200};
constexpr std::chrono::seconds kAskAgain{1};  // whether a reader still uses a zone

}  // namespace

void ZoneManager::RunResets() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    if (Pause() || Rest()) continue;
    const std::optional<ZoneJob> job = pool_.NextJob();
    if (!job) {
      // NextJob may have cancelled jobs, which waiters and DrainResets must see.
      if (waiters_ != 0) changed_.NotifyAll();
      work_.Wait(mutex_);
      continue;
    }
    if (FinishInstead(*job)) continue;
    lock.Unlock();
    if (readers_ != nullptr && job->kind != ZoneJob::Kind::kFinish) readers_->NoteReset(job->zone);
    const ZoneJobOutcome outcome = RunZoneJob(device_, *job);
    lock.Lock();
    next_reset_ = SteadyNow() + kResetPause;
    pool_.JobDone(*job, outcome);
    Announce();
  }
}

bool ZoneManager::Pause() {
  if (!ResetsCanWait() || SteadyNow() >= next_reset_) return false;
  SyncPoint::Reach("ZoneManager::Pause");
  resets_pause_ = true;
  static_cast<void>(work_.WaitUntil(mutex_, Deadline::After(next_reset_ - SteadyNow())));
  resets_pause_ = false;
  return true;
}

bool ZoneManager::Rest() {
  ResetQueue& jobs = pool_.jobs();
  if (readers_ == nullptr || !MayRest()) return false;
  const SteadyTime now = SteadyNow();
  if (!jobs.FindDue(now)) {
    SyncPoint::Reach("ZoneManager::Rest:rests");
    resets_rest_ = jobs.pushed();
    static_cast<void>(work_.WaitUntil(mutex_, Deadline::After(jobs.NextDue() - now)));
    resets_rest_.reset();
    return true;
  }
  const ZoneJob job = jobs.Front();
  if (now >= job.queued + kRest) return false;
  mutex_.Unlock();
  const bool read = readers_->IsRead(job.zone);
  mutex_.Lock();
  if (!read) return false;
  // Only this thread removes jobs, except StopResets.
  if (jobs.empty() || !jobs.can_wait() || jobs.Front().zone != job.zone) return true;
  jobs.PutOff(std::min(now + kAskAgain, job.queued + kRest));
  return true;
}

bool ZoneManager::FinishInstead(const ZoneJob& job) {
  const bool holds_slot = job.kind == ZoneJob::Kind::kResetIfWritten && !job.can_wait;
  if (readers_ == nullptr || !holds_slot || !MayFinishInstead()) return false;
  mutex_.Unlock();
  const bool finished = readers_->IsRead(job.zone) &&
                        RunZoneJob(device_, {.zone = job.zone, .kind = ZoneJob::Kind::kFinish}).ok;
  mutex_.Lock();
  if (!finished) return false;
  pool_.PutOffReset(job);
  Announce();
  return true;
}

bool ZoneManager::ResetsCanWait() const { return waiters_ == 0 && !stopped_ && pool_.ResetsCanWait(); }

bool ZoneManager::MayFinishInstead() const { return waiters_ == 0 && !stopped_ && pool_.HasRoomToRest(); }

bool ZoneManager::MayRest() const {
  const ResetQueue& jobs = pool_.jobs();
  return !jobs.empty() && jobs.can_wait() && MayFinishInstead();
}

// --- the collector ---

std::optional<ReclaimNeed> ZoneManager::AwaitReclaimNeed(Deadline deadline) {
  MutexLock lock(mutex_);
  ReclaimDemand& demand = pool_.demand();
  ZENFS_ASSERT(!collector_waits_);
  collector_waits_ = true;
  std::optional<ReclaimNeed> need;
  bool in_time = true;
  while (!stopped_ && in_time && !(need = demand.Need())) in_time = need_.WaitUntil(mutex_, deadline);
  collector_waits_ = false;
  if (!need) {
    demand.ForgetPendingVerdict();
    need = demand.Need();
  }
  return stopped_ ? std::nullopt : need;
}

bool ZoneManager::reclaim_presses() const {
  MutexLock lock(mutex_);
  return pool_.demand().Presses();
}

void ZoneManager::SetReclaimVerdict(const ReclaimVerdict& verdict) {
  MutexLock lock(mutex_);
  pool_.demand().SetVerdict(verdict);
  Announce();
}

void ZoneManager::NoteReclaimChange() {
  MutexLock lock(mutex_);
  pool_.demand().NoteChange();
  Announce();
}

bool ZoneManager::ReduceLogShare() {
  MutexLock lock(mutex_);
  const bool reduces = pool_.ReduceLogShare();
  Announce();
  return reduces;
}

void ZoneManager::AskToTidy() {
  MutexLock lock(mutex_);
  pool_.demand().AskToTidy();
  Announce();
}

void ZoneManager::TidyData() {
  MutexLock lock(mutex_);
  pool_.demand().TidyData();
  Announce();
}

bool ZoneManager::FinishActive(ZoneId zone) {
  MutexLock lock(mutex_);
  const bool finishes = pool_.FinishActive(zone);
  Announce();
  return finishes;
}

ZonePin ZoneManager::PinVictim(ZoneId zone) {
  if (zone.value >= setup_.geometry.zone_count) return {};
  MutexLock lock(mutex_);
  const ZonePhase phase = pool_.Zone(zone).phase;
  if (phase == ZonePhase::kEmpty || phase == ZonePhase::kDead) return {};
  pool_.Pin(zone);
  return ZonePin(this, zone);
}

// --- inspection ---

Status ZoneManager::health() const {
  MutexLock lock(mutex_);
  return pool_.health();
}

SpaceReport ZoneManager::Space() const {
  MutexLock lock(mutex_);
  return pool_.Space();
}

ZoneStatus ZoneManager::Zone(ZoneId zone) const {
  MutexLock lock(mutex_);
  return pool_.Zone(zone);
}

std::vector<ZoneStatus> ZoneManager::Zones() const {
  MutexLock lock(mutex_);
  return pool_.Zones();
}

std::vector<std::string> ZoneManager::Check() const {
  MutexLock lock(mutex_);
  return pool_.Check();
}

// --- how a volume divides its space ---

EmptyZones::LogShare LogShareOn(const Geometry& geometry) {
  if (geometry.log_zones != 0) return {};
  const std::uint32_t group = LogGroup(geometry);
  return {.needs = 2 * group, .least = group, .group = group};
}

std::uint32_t HeadroomZonesOn(const Geometry& geometry, std::uint32_t metadata_zones) {
  return geometry.main_zones() - metadata_zones >= kFewestZonesForHeadroom ? LogGroup(geometry) : 0;
}

ZoneManager::Options SpaceOptions(const Geometry& geometry, const std::vector<ZoneId>& metadata_zones) {
  return {.metadata_zones = metadata_zones,
          .log = LogShareOn(geometry),
          .reclaims = true,
          .headroom = HeadroomZonesOn(geometry, static_cast<std::uint32_t>(metadata_zones.size()))};
}

}  // namespace zenfs
