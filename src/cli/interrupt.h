// SIGINT and SIGTERM as a wish to stop, for verbs that have something to end cleanly.
#pragma once

#include <atomic>

namespace zenfs {

// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag that is returned; a second one ends the process.
// Process-wide; call it once.
[[nodiscard]] const std::atomic<bool>& StopOnInterrupt();

}  // namespace zenfs
