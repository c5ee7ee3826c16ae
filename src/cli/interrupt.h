// SIGINT and SIGTERM as a request to stop, for verbs that must end cleanly.
#pragma once

#include <atomic>

namespace zenfs {

// After this call, the first SIGINT, SIGTERM or SIGHUP sets the returned flag; a second one ends
// the process. Affects the whole process; call it once.
[[nodiscard]] const std::atomic<bool>& StopOnInterrupt();

}  // namespace zenfs
