// Commits edits to the metadata log of a mounted volume. What they mean for names, space and open files is carried out by
// CommitEffects, before Commit returns.
//
// Threads: any.
#pragma once

#include <vector>

#include "metalog/metalog.h"
#include "metrics/metrics.h"
#include "zone/zone_manager.h"

namespace zenfs {

class CommitPath {
 public:
  // All of them outlive it.
  CommitPath(Metalog& metalog, ZoneManager& zones, Metrics& metrics)
      : metalog_(metalog), zones_(zones), metrics_(metrics) {}

  // The edits are durable, and in effect, when this succeeds. Errors: those of Metalog::Commit. If the outcome is unknown
  // no zone is reset from then on.
  [[nodiscard]] Status Commit(std::vector<Edit> edits, CommitOptions options = {});
  // kNoSpace if a commit that names so many more extents would be refused.
  [[nodiscard]] Status CheckRoomForExtents(std::size_t extents) const;

  // Not OK once nothing can be committed any more: why.
  Status health() const { return metalog_.health(); }

 private:
  Metalog& metalog_;
  ZoneManager& zones_;
  Metrics& metrics_;
};

}  // namespace zenfs
