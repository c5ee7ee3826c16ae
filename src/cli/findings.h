// Findings of a check or a scrub as text and as JSON.
#pragma once

#include "cli/console.h"
#include "volume/fsck/finding.h"

namespace zenfs {

// Adds the members "findings" and "findings_omitted" to the object `json`.
void AddFindings(const Findings& findings, Json& json);
// Prints one line per finding: "error: ... (zone 3, offset 12288)", and one about those that were only counted.
void PrintFindings(const Findings& findings, Console& console);

}  // namespace zenfs
