#include "cli/findings.h"

#include <fmt/format.h>

namespace zenfs {
namespace {

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: break;
  }
  return "error";
}

Json ToJson(const Finding& finding) {
  Json json{{"severity", NameOf(finding.severity)}, {"text", finding.text}};
  if (finding.zone) json["zone"] = finding.zone->value;
  if (finding.offset) json["offset"] = finding.offset->value;
  if (!finding.paths.empty()) json["paths"] = finding.paths;
  if (finding.more_paths != 0) json["more_paths"] = finding.more_paths;
  return json;
}

std::string ToLine(const Finding& finding) {
  std::string where;
  if (finding.zone) where += fmt::format("zone {}", finding.zone->value);
  if (finding.offset)
    where += fmt::format("{}device offset {}", where.empty() ? "" : ", ", finding.offset->value);
  return fmt::format("{}: {}{}\n", NameOf(finding.severity), Printable(finding.text),
                     where.empty() ? "" : fmt::format(" ({})", where));
}

}  // namespace

void AddFindings(const Findings& findings, Json& json) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(ToJson(finding));
  json["findings"] = std::move(list);
  json["findings_omitted"] = {{"errors", findings.omitted(Severity::kError)},
                              {"warnings", findings.omitted(Severity::kWarning)},
                              {"notes", findings.omitted(Severity::kNote)}};
}

void PrintFindings(const Findings& findings, Console& console) {
  for (const Finding& finding : findings) console.Print(ToLine(finding));
  if (const std::string rest = findings.OmittedText(); !rest.empty()) console.Print(rest + "\n");
}

}  // namespace zenfs
