// A report of a check as text and as JSON.
#pragma once

#include "cli/console.h"
#include "volume/fsck/check_volume.h"

namespace zenfs {

[[nodiscard]] Json ToJson(const CheckReport& report);
void PrintReport(const CheckReport& report, Console& console);

}  // namespace zenfs
