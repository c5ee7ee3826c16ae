// Properties of every state that a replay of a metadata log returns.
#pragma once

#include <string>
#include <vector>

#include "input.h"
#include "model/state.h"

namespace zenfs {

// Overlapping extents do not make a commit invalid, because finding them takes all files. Numbers
// that leave no room to count on do not either (kStateNumbersStart in model/state.h); a mount refuses them.
inline void CheckInvariants(const State& state) {
  for (const std::string& finding : state.Check()) {
    Require(finding.find("both claim") != std::string::npos ||
                finding.find("any writer counts") != std::string::npos,
            "a commit that is applied keeps the invariants: " + finding);
  }
}

// A snapshot of the state can be written and read, as in the next log switch.
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
