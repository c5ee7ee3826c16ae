#include "cli/check_report.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/findings.h"

namespace zenfs {

Json ToJson(const CheckReport& report) {
  if (!report.has_state) return {{"clean", false}, {"findings", ToJson(report.findings)}};
  return {{"clean", report.clean()},
          {"files", report.files},
          {"directories", report.directories},
          {"extents", report.extents},
          {"frames", report.frames},
          {"used_bytes", report.used_bytes()},
          {"data_bytes", report.data_bytes},
          {"log_bytes", report.log_bytes},
          {"metadata_bytes", report.metadata_bytes},
          {"findings", ToJson(report.findings)}};
}

void PrintReport(const CheckReport& report, Console& console) {
  PrintFindings(report.findings, console);
  if (!report.has_state) return console.Print("DAMAGED: the contents of the volume could not be read\n");
  console.Print(fmt::format(
      "{}: {}, {}, {}, {}, {} used\n", report.clean() ? "Clean" : "DAMAGED", Counted(report.files, "file"),
      Counted(report.directories, "directory", "directories"), Counted(report.extents, "extent"),
      Counted(report.frames, "frame"), ShortBytes(report.used_bytes())));
}

}  // namespace zenfs
