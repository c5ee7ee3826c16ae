// ZENFS_ASSERT(condition): states an invariant where it must hold. A broken one ends the process with the place and the
// condition. Debug and sanitizer builds check it. A build with NDEBUG, such as the release, compiles it and does not run it.
#pragma once

#include <cassert>

#ifdef NDEBUG
#define ZENFS_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define ZENFS_ASSERT(condition) assert(condition)
#endif
