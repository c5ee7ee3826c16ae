// Findings of a check or a scrub as text and as JSON.
#pragma once

#include <vector>

#include "cli/console.h"
#include "volume/finding.h"

namespace zenfs {

[[nodiscard]] Json ToJson(const std::vector<Finding>& findings);
// "error: ... (zone 3, offset 12288)", a line each.
void PrintFindings(const std::vector<Finding>& findings, Console& console);

}  // namespace zenfs
