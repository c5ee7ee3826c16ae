#include "volume/commit_path.h"

namespace zenfs {

Status CommitPath::Commit(std::vector<Edit> edits, CommitOptions options) {
  Meter meter(metrics_, Operation::kMetaSync);
  Status committed = metalog_.Commit(std::move(edits), options);
  // The next mount may find the commit after all. What it points to is pinned by the caller until here, and must be there
  // then.
  if (!committed.ok() && committed.error().code() == Code::kUnknownOutcome) zones_.StopResets();
  return meter.Done(std::move(committed));
}

// The most that such a commit takes, by the codec.
Status CommitPath::CheckRoomForExtents(std::size_t extents) const {
  constexpr std::uint64_t kPerExtent = 40;
  constexpr std::uint64_t kPerCommit = 256;
  return metalog_.CheckRoom(2 * (kPerCommit + kPerExtent * extents));
}

}  // namespace zenfs
