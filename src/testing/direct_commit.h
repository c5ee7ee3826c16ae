// Commits to the metadata log of a volume that is not mounted, past all that a mount checks.
#pragma once

#include <utility>
#include <vector>

#include "metalog/metalog.h"
#include "metalog/probe.h"

namespace zenfs {

// Commits the edits that `edits_for` makes for the state of the volume on `device`. Errors: those of the metadata log.
template <typename EditsFor>
[[nodiscard]] Status CommitDirectly(ZonedDevice& device, const EditsFor& edits_for) {
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(device));
  ZENFS_ASSIGN_OR_RETURN(const auto log, Metalog::Open(device, superblock));
  Status committed = log->Commit(edits_for(log->recovered()));
  log->Stop();
  return committed;
}

}  // namespace zenfs
