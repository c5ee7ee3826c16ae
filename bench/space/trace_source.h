// A stream of file events: a trace that was recorded, or a workload that is made up. Only creations, lifetimes, sizes,
// closes and deletions; each event about an existing file.
//
// Threads: for one thread.
#pragma once

#include <optional>

#include "base/status.h"
#include "format/file_trace.h"

namespace zenfs::space {

class TraceSource {
 public:
  virtual ~TraceSource() = default;

  // Returns nullopt at the end. Errors: kCorruption for a damaged trace, with the line.
  [[nodiscard]] virtual Result<std::optional<TraceEvent>> Next() = 0;
};

}  // namespace zenfs::space
