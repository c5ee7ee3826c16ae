// What makes one process the holder of a file, directory or device.
//
// A child made by fork() gives up its copies of the descriptors when it first runs (base/descriptor_registry.h), which may
// be after its parent closed them or was killed. And those who only look at a file hold its lock for a moment. So a holder
// is asked again for 200 ms before it counts as one.
#pragma once

#include <functional>

namespace zenfs {

// Takes flock(2) on the open file `fd`, exclusively; it is held until every copy of the descriptor is closed. Returns 0
// or an errno: EWOULDBLOCK if another holds it.
[[nodiscard]] int LockFile(int fd);

// Calls `attempt`, which returns 0 or an errno, again until it returns something else than `busy` or 200 ms have passed.
// Returns its last answer.
[[nodiscard]] int RetryWhileBusy(int busy, const std::function<int()>& attempt);

}  // namespace zenfs
