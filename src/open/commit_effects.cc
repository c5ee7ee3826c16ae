#include "open/commit_effects.h"

namespace zenfs {

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
