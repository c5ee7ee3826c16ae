#include <fmt/format.h>

#include <string>

#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/consent.h"
#include "cli/console.h"
#include "cli/device_option.h"
#include "cli/findings.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "repair/repair.h"
#include "volume/fsck/check_volume.h"

namespace zenfs {
namespace {

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

void PrintPlan(const RepairPlan& plan, const std::string& save_to, Console& console) {
  for (const std::string& loss : plan.losses) console.Print(fmt::format("lost: {}\n", Printable(loss)));
  if (plan.losses.omitted() != 0)
    console.Print(fmt::format("lost: {}, not listed\n", Counted(plan.losses.omitted(), "more part")));
  if (plan.nothing_to_do()) return console.Print("Nothing to repair.\n");
  console.Print(fmt::format("The repair of {} would:\n", plan.superblock.uuid.ToString()));
  std::size_t number = 1;
  console.Print(fmt::format(
      "{:>3}. copy the metadata zones to {} (at most {} bytes), so that --undo-repair can restore them\n",
      number, Printable(save_to), plan.copy_bytes));
  for (const std::string& step : plan.steps)
    console.Print(fmt::format("{:>3}. {}\n", ++number, Printable(step)));
  if (plan.steps.omitted() != 0)
    console.Print(fmt::format("     and {}, not listed\n", Counted(plan.steps.omitted(), "more step")));
}

Json PlanJson(const RepairPlan& plan, const std::string& save_to) {
  Json json{{"steps", plan.steps},
            {"steps_omitted", plan.steps.omitted()},
            {"losses", plan.losses},
            {"losses_omitted", plan.losses.omitted()}};
  if (!plan.nothing_to_do()) {
    json["generation"] = plan.generation;
    json["sequence"] = plan.sequence;
    json["save_to"] = save_to;
    json["save_bytes_max"] = plan.copy_bytes;
  }
  return json;
}

class CheckAction : public Action {
 public:
  explicit CheckAction(CLI::App& app) : device_(app) {
    CLI::Option* read_data = app.add_flag("--read-data", read_data_, "Also read every byte of every file");
    CLI::Option* repair =
        app.add_flag(
               "--repair", repair_,
               "Rebuild damaged metadata as far as possible; shows its plan and asks (docs/use/repair.md)")
            ->excludes(read_data);
    app.add_flag("--dry-run", dry_run_, "With --repair: only show the plan")->needs(repair);
    app.add_flag("--yes", yes_, "With --repair: do not ask")->needs(repair);
    app.add_option("--save", save_to_,
                   "With --repair: the new file for a copy of the metadata "
                   "(default: zenfs-metadata-UUID-TIME.zmeta in this directory)")
        ->type_name("FILE")
        ->needs(repair);
    app.add_option("--undo-repair", undo_, "Restore the metadata from the copy that a repair made")
        ->type_name("FILE")
        ->excludes(repair)
        ->excludes(read_data);
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    if (repair_) return RunRepair(console);
    if (!undo_.empty()) return RunUndoRepair(console);
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kReadOnly));
    CheckOptions options;
    options.read_data = read_data_;
    options.progress = [&console](std::uint64_t done, std::uint64_t of) {
      console.Progress("checking", done, of);
    };
    ZENFS_ASSIGN_OR_RETURN(const CheckReport report, CheckVolume(*named.device, options));
    console.EndProgress();
    if (!report.unsynced.empty()) console.PrintNote("check", report.unsynced);
    if (json_) {
      console.PrintJson(ToJson(report));
    } else {
      PrintReport(report, console);
    }
    return report.clean() ? kCheckClean : kCheckFindings;
  }

 private:
  // Prints the plan, asks, carries it out, and checks the result. Returns kCheckClean if the volume is sound now, kCheckFindings
  // otherwise: the user declined, a dry run, losses that stay.
  Result<int> RunRepair(Console& console) const {
    const OpenMode mode = dry_run_ ? OpenMode::kReadOnly : OpenMode::kExclusive;
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(mode));
    ZENFS_ASSIGN_OR_RETURN(const RepairPlan plan, PlanRepair(*named.device));
    const std::string save_to = save_to_.empty() ? DefaultSaveFile(plan.superblock.uuid) : save_to_;
    if (!json_) PrintPlan(plan, save_to, console);
    Json json{{"plan", PlanJson(plan, save_to)}};
    const auto end = [&](std::string_view outcome, bool sound) {
      json["outcome"] = outcome;
      if (json_) console.PrintJson(json);
      return sound ? kCheckClean : kCheckFindings;
    };
    if (plan.nothing_to_do()) return end("nothing to do", plan.losses.empty());
    if (dry_run_) return end("dry run", false);
    ZENFS_ASSIGN_OR_RETURN(const bool agreed, MayGoOn(console, yes_, json_));
    if (!agreed) {
      console.Print("Nothing was changed.\n");
      return kCheckFindings;
    }
    ZENFS_RETURN_IF_ERROR(CarryOut(*named.device, plan, save_to));
    ZENFS_ASSIGN_OR_RETURN(const CheckReport report, CheckVolume(*named.device, CheckOptions{}));
    json["saved"] = save_to;
    json["check"] = ToJson(report);
    if (!json_) {
      console.Print(fmt::format("Done. Copy of the old metadata: {}\n", Printable(save_to)));
      PrintReport(report, console);
    }
    return end("repaired", report.clean());
  }

  // Returns kCheckClean after the old metadata is restored.
  Result<int> RunUndoRepair(Console& console) const {
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kExclusive));
    ZENFS_RETURN_IF_ERROR(UndoRepair(*named.device, undo_));
    if (json_) {
      console.PrintJson(Json{{"outcome", "undone"}, {"saved", undo_}});
    } else {
      console.Print(fmt::format("The metadata zones are restored from {}.\n", Printable(undo_)));
    }
    return kCheckClean;
  }

  DeviceOption device_;
  bool read_data_ = false;
  bool repair_ = false;
  bool dry_run_ = false;
  bool yes_ = false;
  std::string save_to_;  // empty: a name made of volume and time, in the current directory
  std::string undo_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeCheck(CLI::App& app) { return MakeAction<CheckAction>(app); }

}  // namespace zenfs
