#include "cli/check_report.h"

#include <fmt/format.h>

namespace zenfs {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

namespace {

Json FindingJson(const Finding& finding) {
  Json json{{"severity", SeverityName(finding.severity)}, {"text", finding.text}};
  if (finding.zone) json["zone"] = finding.zone->value;
  if (finding.offset) json["offset"] = finding.offset->value;
  if (!finding.path.empty()) json["path"] = finding.path;
  return json;
}

std::string ToLine(const Finding& finding) {
  std::string where;
  if (finding.zone) where += fmt::format("zone {}", finding.zone->value);
  if (finding.offset) where += fmt::format("{}offset {}", where.empty() ? "" : ", ", finding.offset->value);
  return fmt::format("{}: {}{}\n", SeverityName(finding.severity), Printable(finding.text),
                     where.empty() ? "" : fmt::format(" ({})", where));
}

}  // namespace

Json ToJson(const CheckReport& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) findings.push_back(FindingJson(finding));
  return {{"clean", report.clean()},        {"files", report.files},   {"directories", report.directories},
          {"extents", report.extents},      {"frames", report.frames}, {"live_bytes", report.bytes_live},
          {"findings", std::move(findings)}};
}

void PrintReport(const CheckReport& report, Console& console) {
  for (const Finding& finding : report.findings) console.Print(ToLine(finding));
  console.Print(fmt::format("{}: {} files, {} directories, {} extents, {} frames, {} MB live\n",
                            report.clean() ? "Clean" : "DAMAGED", report.files, report.directories,
                            report.extents, report.frames, WholeMegabytes(report.bytes_live)));
}

}  // namespace zenfs
