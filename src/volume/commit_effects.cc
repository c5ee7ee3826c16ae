#include "volume/commit_effects.h"

namespace zenfs {

void CommitEffects::OnCommitted(std::span<const Edit> edits) {
  const Result<Effects> effects = catalog_.Apply(edits);
  if (!effects) {
    MutexLock lock(mutex_);
    health_ =
        Fail(effects.error().With("a committed action contradicts the catalog; the volume is read-only from "
                                  "now on, please report this"));
    return;
  }
  zones_.AddLive(effects->gained);
  if (!zones_.RemoveLive(effects->lost)) {
    Status counted = zones_.health();
    MutexLock lock(mutex_);
    health_.Update(std::move(counted));
  }
  for (const FileId id : effects->removed) {
    files_.MarkUnlinked(id);
    logs_.Remove(id);
  }
  if (!effects->lost.empty()) log_.zones().Wake();
}

Status CommitEffects::health() const {
  MutexLock lock(mutex_);
  return health_;
}

}  // namespace zenfs
