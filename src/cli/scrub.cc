#include "volume/fsck/scrub.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/counted.h"
#include "base/host_directory.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/findings.h"
#include "cli/flags.h"
#include "cli/scrub_result.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// What became of the checksums that the scrub has computed.
struct Recorded {
  std::uint64_t extents = 0;
  std::string why_not;  // if there are some that are not recorded
};

Json ToJson(const ScrubReport& report, const Recorded& recorded) {
  Json json{{"clean", report.clean()},
            {"superblocks", report.superblocks},
            {"metadata_frames", report.metadata_frames},
            {"log_frames", report.log_frames},
            {"files", report.files},
            {"extents", report.extents},
            {"extent_bytes", report.extent_bytes},
            {"used_bytes", report.used_bytes()},
            {"data_bytes", report.data_bytes},
            {"log_bytes", report.log_bytes},
            {"metadata_bytes", report.metadata_bytes},
            {"extents_without_checksum", report.extents_without_checksum},
            {"bytes_without_checksum", report.bytes_without_checksum},
            {"checksums_recorded", recorded.extents}};
  AddFindings(report.findings, json);
  return json;
}

class ScrubAction : public Action {
 public:
  explicit ScrubAction(CLI::App& app) : device_(app) {
    AddSize(app, "--rate", options_.bytes_per_second, "Read at most this many bytes per second; 0: no limit");
    app.add_option("--results", results_, "Leave the result in this directory, for zenfs exporter")
        ->type_name("DIR");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    if (!results_.empty()) {  // known before hours of reading
      const auto directory = HostDirectory::Open(results_);
      if (!directory) return Fail(directory.error().With("--results"));
    }
    ZENFS_ASSIGN_OR_RETURN(const ScrubReport report, Scrub(console));
    if (!report.unsynced.empty()) console.PrintNote("scrub", report.unsynced);
    const Recorded recorded = Record(report);
    if (json_) {
      console.PrintJson(ToJson(report, recorded));
    } else {
      PrintText(report, recorded, console);
    }
    if (!results_.empty()) {
      const auto errors = static_cast<std::uint64_t>(
          std::ranges::count(report.findings, Severity::kError, &Finding::severity));
      ZENFS_RETURN_IF_ERROR(WriteScrubResult(
          results_, report.uuid.ToString(),
          {.ended = WallSeconds(), .errors = errors + report.findings.omitted(Severity::kError)}));
    }
    return report.clean() ? kCheckClean : kCheckFindings;
  }

 private:
  Result<ScrubReport> Scrub(Console& console) {
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kReadOnly));
    options_.progress = [&console](std::uint64_t done, std::uint64_t of) {
      console.Progress("scrubbing", done, of);
    };
    Result<ScrubReport> report = ScrubVolume(*named.device, options_);
    console.EndProgress();
    return report;
  }

  // Needs the volume for itself, because only one program writes to it at a time.
  Recorded Record(const ScrubReport& report) const {
    if (!report.clean() || report.computed.empty()) return {};
    const Result<NamedDevice> named = device_.Open(OpenMode::kExclusive);
    if (!named) return {.why_not = named.error().text()};
    const Result<std::uint64_t> extents = RecordChecksums(*named->device, report.computed);
    if (!extents) return {.why_not = extents.error().text()};
    return {.extents = *extents};
  }

  static void PrintText(const ScrubReport& report, const Recorded& recorded, Console& console) {
    PrintFindings(report.findings, console);
    console.Print(fmt::format("{}: {}, {}, {}, {}, {}, {} used\n", report.clean() ? "Clean" : "DAMAGED",
                              Counted(report.superblocks, "superblock"),
                              Counted(report.metadata_frames, "metadata frame"),
                              Counted(report.log_frames, "log frame"), Counted(report.files, "file"),
                              Counted(report.extents, "extent"), ShortBytes(report.used_bytes())));
    if (report.extents_without_checksum == 0) return;
    console.Print(fmt::format("{} of {} without checksum: they can be read, but not verified\n",
                              Counted(report.extents_without_checksum, "extent"),
                              ShortBytes(report.bytes_without_checksum)));
    if (recorded.extents != 0) {
      console.Print(
          fmt::format("{} now: the next scrub verifies them\n",
                      recorded.extents == 1 ? "1 has one" : fmt::format("{} have one", recorded.extents)));
    } else if (!recorded.why_not.empty()) {
      console.Print(fmt::format("No checksum was recorded: {}\n", Printable(recorded.why_not)));
    }
  }

  DeviceOption device_;
  ScrubOptions options_;
  std::string results_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeScrub(CLI::App& app) { return MakeAction<ScrubAction>(app); }

}  // namespace zenfs
