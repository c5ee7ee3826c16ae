// Commits edits to the metadata log of a mounted volume. CommitEffects applies them to names, space and open files before
// Commit returns.
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
  // All arguments outlive it.
  CommitPath(Metalog& metalog, ZoneManager& zones, Metrics& metrics)
      : metalog_(metalog), zones_(zones), metrics_(metrics) {}

  // The edits are durable and applied when this returns OK. Errors: those of Metalog::Commit. After an unknown outcome no
  // zone is reset any more.
  [[nodiscard]] Status Commit(std::vector<Edit> edits, CommitOptions options = {});
  // Errors: kNoSpace if a commit with this many more extents would be refused.
  [[nodiscard]] Status CheckRoomForExtents(std::size_t extents) const;

  // The error that prevents all further commits; OK if there is none.
  Status health() const { return metalog_.health(); }

 private:
  // Gives empty zones to the metadata log if it wants some, and takes back those that it does not need.
  void BalanceZones() const;

  Metalog& metalog_;
  ZoneManager& zones_;
  Metrics& metrics_;
};

}  // namespace zenfs
