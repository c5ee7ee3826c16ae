// The result of the last complete scrub of a volume, which `zenfs scrub` leaves in a directory and `zenfs exporter` shows. The
// file UUID.json holds one JSON object, such as {"ended": 1764540000, "errors": 0}.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace zenfs {

struct ScrubResult {
  std::uint64_t ended = 0;   // seconds since 1970
  std::uint64_t errors = 0;  // findings that are errors

  friend bool operator==(const ScrubResult&, const ScrubResult&) = default;
};

// Replaces the result of the volume. Errors: those of NewOutput (base/output_file.h), with the path.
[[nodiscard]] Status WriteScrubResult(const std::string& directory, const std::string& uuid,
                                      const ScrubResult& result);

// Nothing if the volume has not been scrubbed. Errors: kInvalidArgument, with the path, for a file that holds no result; those of
// the host.
[[nodiscard]] Result<std::optional<ScrubResult>> ReadScrubResult(const std::string& directory,
                                                                 const std::string& uuid);

}  // namespace zenfs
