#include "cli/check_repair.h"
#include "cli/check_report.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "volume/fsck/check_volume.h"

namespace zenfs {
namespace {

class CheckAction : public Action {
 public:
  explicit CheckAction(CLI::App& app) : device_(app) {
    CLI::Option* read_data = app.add_flag("--read-data", read_data_, "Also read every byte of every file");
    CLI::Option* repair =
        app.add_flag(
               "--repair", repair_,
               "Rebuild damaged metadata as far as possible; shows its plan and asks (docs/use/repair.md)")
            ->excludes(read_data);
    app.add_flag("--dry-run", request_.dry_run, "With --repair: only show the plan")->needs(repair);
    app.add_flag("--yes", request_.yes, "With --repair: do not ask")->needs(repair);
    app.add_option("--save", request_.save_to,
                   "With --repair: the new file for a copy of the metadata "
                   "(default: zenfs-metadata-UUID-TIME.zmeta in this directory)")
        ->type_name("FILE")
        ->needs(repair);
    app.add_option("--undo-repair", undo_, "Restore the metadata from the copy that a repair made")
        ->type_name("FILE")
        ->excludes(repair)
        ->excludes(read_data);
    AddJson(app, request_.json);
  }

  Result<int> Run(Console& console) override {
    if (repair_) return RunRepair(device_, request_, console);
    if (!undo_.empty()) return RunUndoRepair(device_, undo_, request_, console);
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kReadOnly));
    CheckOptions options;
    options.read_data = read_data_;
    options.progress = [&console](std::uint64_t done, std::uint64_t of) {
      console.Progress("checking", done, of);
    };
    ZENFS_ASSIGN_OR_RETURN(const CheckReport report, CheckVolume(*named.device, options));
    console.EndProgress();
    if (!report.unsynced.empty()) console.PrintNote("check", report.unsynced);
    if (request_.json) {
      console.PrintJson(ToJson(report));
    } else {
      PrintReport(report, console);
    }
    return report.clean() ? kCheckClean : kCheckFindings;
  }

 private:
  DeviceOption device_;
  bool read_data_ = false;
  bool repair_ = false;
  RepairRequest request_;
  std::string undo_;
};

}  // namespace

std::unique_ptr<Action> MakeCheck(CLI::App& app) { return MakeAction<CheckAction>(app); }

}  // namespace zenfs
