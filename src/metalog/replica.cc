#include "metalog/replica.h"

#include <utility>

namespace zenfs {

Status Replica::Add(const Edits& edits, std::string& encoded, std::uint64_t reserved) {
  if (!frozen_) return Apply(*edits, reserved);
  pending_.push_back({edits, std::move(encoded), reserved});
  return {};
}

const State& Replica::Freeze() {
  ZENFS_ASSERT(!frozen_ && pending_.empty());
  frozen_ = true;
  return state_;
}

Status Replica::Thaw() {
  ZENFS_ASSERT(frozen_);
  frozen_ = false;
  Status applied;
  for (const Pending& commit : pending_) {
    applied = Apply(*commit.edits, commit.reserved);
    if (!applied.ok()) break;
  }
  pending_.clear();
  return applied;
}

Status Replica::Thaw(Footprint measured) {
  footprint_ = std::move(measured);
  return Thaw();
}

Status Replica::Apply(const std::vector<Edit>& edits, std::uint64_t reserved) {
  ZENFS_ASSERT(!frozen_);
  Release(reserved);
  Effects effects;
  ZENFS_RETURN_IF_ERROR(state_.Apply(edits, &effects));
  footprint_.Apply(edits, effects, state_);
  return {};
}

}  // namespace zenfs
