#include "cli/check_report.h"

#include <fmt/format.h>

#include "cli/findings.h"

namespace zenfs {

Json ToJson(const CheckReport& report) {
  return {{"clean", report.clean()},
          {"files", report.files},
          {"directories", report.directories},
          {"extents", report.extents},
          {"frames", report.frames},
          {"live_bytes", report.bytes_live},
          {"findings", ToJson(report.findings)}};
}

void PrintReport(const CheckReport& report, Console& console) {
  PrintFindings(report.findings, console);
  console.Print(fmt::format("{}: {} files, {} directories, {} extents, {} frames, {} MB live\n",
                            report.clean() ? "Clean" : "DAMAGED", report.files, report.directories,
                            report.extents, report.frames, WholeMegabytes(report.bytes_live)));
}

}  // namespace zenfs
