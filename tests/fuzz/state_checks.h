// What holds of every state that a metadata log was replayed to.
#pragma once

#include <string>
#include <vector>

#include "input.h"
#include "model/state.h"

namespace zenfs {

// Overlapping extents are no reason to refuse a commit, because finding them takes all files; nor are numbers that leave no
// room to count on from (model/number_limits.h), which a mount refuses.
inline void CheckInvariants(const State& state) {
  for (const std::string& finding : state.Check()) {
    Require(finding.find("both claim") != std::string::npos || finding.find("no writer") != std::string::npos,
            "a commit that is applied keeps the invariants: " + finding);
  }
}

// A snapshot of it can be written and read, as the next roll does.
inline void CheckState(const State& state) {
  State rebuilt;
  Status applied;
  state.Describe([&](std::vector<Edit> edits) {
    if (applied.ok()) applied = rebuilt.Apply(edits);
  });
  Require(applied.ok() && rebuilt == state, "a snapshot rebuilds what was replayed");
  CheckInvariants(state);
}

}  // namespace zenfs
