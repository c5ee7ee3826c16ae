#include "open/commit_path.h"

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

}  // namespace zenfs
