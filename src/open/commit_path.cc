#include "open/commit_path.h"

#include "base/random.h"
#include "catalog/catalog.h"
#include "open/open_file_table.h"
#include "open/trace_recorder.h"
#include "wal/framed_file.h"

namespace zenfs {

Status CommitPath::Commit(std::vector<Edit> edits, CommitOptions options) {
  Meter meter(metrics_, Operation::kMetaSync);
  BalanceZones();
  Status committed = metalog_.Commit(std::move(edits), options);
  // The next mount may find the commit after all, and then needs the extents that it names. The caller's pins protect them
  // only until this returns.
  if (!committed.ok() && committed.error().code() == Code::kUnknownOutcome) zones_.StopResets();
  return meter.Done(std::move(committed));
}

// Here, because the need changes with commits only. At once, without waiting for reclaim: its copies are committed here, too.
void CommitPath::BalanceZones() const {
  if (const std::vector<ZoneId> freed = metalog_.TakeFreedZones(); !freed.empty())
    zones_.ReleaseMetadataZones(freed);
  if (const std::uint32_t wanted = metalog_.ClaimWantedZones(); wanted != 0)
    metalog_.AddZones(zones_.AllocateMetadataZones(wanted));
}

// An upper bound for the size of such a commit, from the format of edits.
Status CommitPath::CheckRoomForExtents(std::size_t extents) const {
  BalanceZones();
  constexpr std::uint64_t kPerExtent = 40;
  constexpr std::uint64_t kPerCommit = 256;
  return metalog_.CheckRoom(2 * (kPerCommit + kPerExtent * extents));
}

Result<std::vector<LogZone>> LogZoneAllocator::Allocate(std::span<const ZoneId> zones) {
  MutexLock lock(mutex_);
  std::vector<LogZone> allocated;
  for (const ZoneId zone : zones)
    allocated.push_back({.zone = zone, .generation = next_generation_, .salt = RandomSeed()});
  ++next_generation_;  // not used again even if the commit fails: its outcome may be unknown
  ZENFS_RETURN_IF_ERROR(commits_.Commit({RaiseCounters{0, next_generation_}, AllocateLogZones{allocated}}));
  return allocated;
}

void CommitEffects::OnCommitted(std::span<const Edit> edits) {
  const Result<Effects> effects = catalog_.Apply(edits);
  if (!effects) {
    return Refuse(
        Fail(effects.error().With("a committed action contradicts the catalog; the volume is read-only from "
                                  "now on, please report this")));
  }
  zones_.AddLive(effects->gained);
  if (!zones_.RemoveLive(effects->lost)) Refuse(zones_.health());
  for (const FileId id : effects->removed) {
    files_.MarkUnlinked(id);
    logs_.Remove(id);
    if (trace_ != nullptr) trace_->Deleted(id);
  }
  if (!effects->lost.empty()) log_.zones().Wake();
}

void CommitEffects::Refuse(Status why) {
  if (why.ok()) return;
  MutexLock lock(mutex_);
  health_.Update(std::move(why));
  healthy_.store(false, std::memory_order_release);
}

Status CommitEffects::health() const {
  if (healthy_.load(std::memory_order_acquire)) return {};  // each append asks
  MutexLock lock(mutex_);
  return health_;
}

}  // namespace zenfs
