// Placement by lifetime: how well a zone fits a file.
//
// The policy follows zoned XFS of Linux. Short-lived data shares a zone only with short-lived data, and medium
// only with medium; long and extreme data share. If no such zone is active, a new zone is opened. If no slot
// or zone is left, an acceptable match is used, then any match.
#pragma once

#include "model/lifetime.h"

namespace zenfs {

enum class Match {
  kBest,        // same lifetime
  kGood,        // preferred to opening another zone
  kAcceptable,  // preferred to sharing a claimed zone
  kPoor,        // preferred only to failing
};

[[nodiscard]] Match MatchOf(Lifetime zone, Lifetime file);

}  // namespace zenfs
