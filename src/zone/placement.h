// Which zone suits which file: policy as one table, without a device.
//
// After Linux's zoned XFS: short-lived data goes only with short-lived, medium only with medium, long and
// extreme with either; else a new zone is opened; only when no slot or zone is left, an acceptable match,
// then any. (shared facts: placement)
#pragma once

#include "model/lifetime.h"

namespace zenfs {

enum class Match {
  kBest,        // same lifetime
  kGood,        // rather than open another zone
  kAcceptable,  // rather than wait
  kPoor,        // rather than fail
};

[[nodiscard]] Match MatchOf(Lifetime zone, Lifetime file);

}  // namespace zenfs
