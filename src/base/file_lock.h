// Exclusive locks on files, directories and devices.
//
// A lock may be held for a short time only: by a program that tests whether it is free, or by a forked child that has not
// yet given up its copy of the descriptor (base/descriptor_registry.h). So a busy lock is retried for 200 ms.
#pragma once

#include <functional>

namespace zenfs {

// Takes an exclusive flock(2) on the open file `fd`, until all copies of the descriptor are closed. Returns 0 or an errno:
// EWOULDBLOCK if it is held elsewhere.
[[nodiscard]] int LockFile(int fd);

// Calls `attempt`, which returns 0 or an errno, until its result is not `busy` or 200 ms have passed. Returns its last
// result.
[[nodiscard]] int RetryWhileBusy(int busy, const std::function<int()>& attempt);

}  // namespace zenfs
