// A report of a check as text and as JSON.
#pragma once

#include <string_view>

#include "cli/console.h"
#include "volume/check_volume.h"

namespace zenfs {

// "note", "warning", "error".
[[nodiscard]] std::string_view SeverityName(Severity severity);
[[nodiscard]] Json ToJson(const CheckReport& report);
void PrintReport(const CheckReport& report, Console& console);

}  // namespace zenfs
