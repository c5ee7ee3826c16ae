// The commit path: edits go to the metadata log first; what they mean for names, space and open files is
// carried out when they come back through the sink, in log order.
#include <fmt/format.h>

#include "base/random.h"
#include "reclaim/log_fold.h"
#include "volume/volume_core.h"

namespace zenfs {
namespace {

// Whoever has reserved a log may hold it while waiting for the room that cleaning is to make, so that does not wait.
constexpr std::chrono::nanoseconds kReservedLogWait{0};

}  // namespace

Status VolumeCore::Commit(std::vector<Edit> edits, CommitOptions options) {
  Meter meter(metrics_, Operation::kMetaSync);
  Status committed = metalog_->Commit(std::move(edits), options);
  // The next mount may find it after all: what it points to, which its maker has pinned until here, must be there then.
  if (!committed.ok() && committed.error().code() == Code::kUnknownOutcome) zones_->StopResets();
  return meter.Done(std::move(committed));
}

void VolumeCore::OnCommitted(std::span<const Edit> edits) {
  const Result<Effects> effects = catalog_->Apply(edits);
  if (!effects) {
    MutexLock lock(health_mutex_);
    health_ =
        Fail(effects.error().With("an action was committed that contradicts the catalog; the volume is "
                                  "read-only from here on, please report this"));
    return;
  }
  zones_->AddLive(effects->gained);
  zones_->RemoveLive(effects->lost);
  for (const FileId id : effects->removed) {
    MarkUnlinked(id);
    logs_.Remove(id);
  }
  if (!effects->lost.empty() && log_ != nullptr) log_->zones().Wake();
}

Result<LogZone> VolumeCore::Reserve(ZoneId zone) {
  MutexLock lock(generation_mutex_);
  const LogZone reserved{.zone = zone, .generation = next_generation_, .salt = RandomSeed()};
  ++next_generation_;  // not used again even if the commit fails: its outcome may be unknown
  ZENFS_RETURN_IF_ERROR(Commit({RaiseCounters{0, next_generation_}, ReserveLogZones{{reserved}}}));
  return reserved;
}

Status VolumeCore::Release(ZoneId zone) { return Commit({ReleaseLogZones{{zone}}}); }

Status VolumeCore::FoldZone(ZoneId zone) {
  const CommitOptions copied{.data_since = FlushMark::Now(*device_)};
  const LogFoldEnv env{
      .logs = &logs_,
      .sink = copy_sink_.get(),
      .block_size = geometry_.block_size,
      .with_file = [this](FileId id, const auto& body) { return WithFreeFile(id, kReservedLogWait, body); },
      .commit = [&](std::vector<Edit> edits) { return Commit(std::move(edits), copied); },
      .may_commit = [this](std::size_t extents) { return MayCommitExtents(extents); }};
  std::uint64_t moved = 0;
  const Status folded = FoldLogZone(env, zone, &moved);
  folded_bytes_.fetch_add(moved, std::memory_order_relaxed);
  return folded;
}

Status VolumeCore::health() const {
  {
    MutexLock lock(health_mutex_);
    if (!health_.ok()) return health_;
  }
  return metalog_->health();
}

Result<Gate::Entry> VolumeCore::Enter(bool writing) const {
  if (fork_guard_.InChild()) {
    return Fail(Code::kShutdown,
                fmt::format("{}: this process was forked from the one that mounted it; a forked "
                            "child can't use the volume",
                            device_name_));
  }
  Gate::Entry entry = gate_.Enter();
  if (!entry) return Fail(Code::kShutdown, fmt::format("{}: the volume is unmounted", device_name_));
  if (writing) {
    MutexLock lock(health_mutex_);
    if (!health_.ok()) return Fail(health_.error());
  }
  return entry;
}

}  // namespace zenfs
