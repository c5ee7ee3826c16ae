#include <fmt/format.h>

#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "volume/check_volume.h"

namespace zenfs {
namespace {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

Json ToJson(const Finding& finding) {
  Json json{{"severity", SeverityName(finding.severity)}, {"text", finding.text}};
  if (finding.zone) json["zone"] = finding.zone->value;
  if (finding.offset) json["offset"] = finding.offset->value;
  return json;
}

Json ToJson(const CheckReport& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) findings.push_back(ToJson(finding));
  return {{"clean", report.clean()},        {"files", report.files},   {"directories", report.directories},
          {"extents", report.extents},      {"frames", report.frames}, {"live_bytes", report.bytes_live},
          {"findings", std::move(findings)}};
}

std::string ToLine(const Finding& finding) {
  std::string where;
  if (finding.zone) where += fmt::format("zone {}", finding.zone->value);
  if (finding.offset) where += fmt::format("{}offset {}", where.empty() ? "" : ", ", finding.offset->value);
  return fmt::format("{}: {}{}\n", SeverityName(finding.severity), Printable(finding.text),
                     where.empty() ? "" : fmt::format(" ({})", where));
}

class CheckAction : public Action {
 public:
  explicit CheckAction(CLI::App& app) : device_(app) {
    app.add_flag("--read-data", read_data_, "Also read every byte of every file");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kReadOnly));
    CheckOptions options;
    options.read_data = read_data_;
    options.progress = [&console](std::uint64_t done, std::uint64_t of) {
      console.Progress("checking", done, of);
    };
    ZENFS_ASSIGN_OR_RETURN(const CheckReport report, CheckVolume(*named.device, options));
    console.EndProgress();
    if (json_) {
      console.PrintJson(ToJson(report));
    } else {
      PrintText(report, console);
    }
    return report.clean() ? kCheckClean : kCheckFindings;
  }

 private:
  static void PrintText(const CheckReport& report, Console& console) {
    for (const Finding& finding : report.findings) console.Print(ToLine(finding));
    console.Print(fmt::format("{}: {} files, {} directories, {} extents, {} frames, {} MB live\n",
                              report.clean() ? "Clean" : "DAMAGED", report.files, report.directories,
                              report.extents, report.frames, WholeMegabytes(report.bytes_live)));
  }

  DeviceOption device_;
  bool read_data_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeCheck(CLI::App& app) { return MakeAction<CheckAction>(app); }

}  // namespace zenfs
