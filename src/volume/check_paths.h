// The part of a check that reports paths longer than kMaxPathBytes, which only an earlier version or a foreign program makes.
#pragma once

#include "volume/check_extents.h"

namespace zenfs {

// Adds at most one warning.
void CheckPaths(CheckContext& context);

}  // namespace zenfs
