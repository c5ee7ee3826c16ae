// Findings of a check or a scrub as text and as JSON.
#pragma once

#include <vector>

#include "cli/console.h"
#include "volume/finding.h"

namespace zenfs {

[[nodiscard]] Json ToJson(const std::vector<Finding>& findings);
// Prints one line per finding: "error: ... (zone 3, offset 12288)".
void PrintFindings(const std::vector<Finding>& findings, Console& console);

}  // namespace zenfs
