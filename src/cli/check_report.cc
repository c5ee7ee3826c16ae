#include "cli/check_report.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/findings.h"

namespace zenfs {

Json ToJson(const CheckReport& report) {
  Json json{{"clean", report.has_state && report.clean()}};
  if (report.has_state) {
    json["files"] = report.files;
    json["directories"] = report.directories;
    json["extents"] = report.extents;
    json["frames"] = report.frames;
    json["used_bytes"] = report.used_bytes();
    json["data_bytes"] = report.data_bytes;
    json["log_bytes"] = report.log_bytes;
    json["metadata_bytes"] = report.metadata_bytes;
  }
  AddFindings(report.findings, json);
  return json;
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
