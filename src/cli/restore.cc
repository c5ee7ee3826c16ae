#include "backup/restore.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/transfer_console.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class RestoreAction : public Action {
 public:
  explicit RestoreAction(CLI::App& app) : device_(app, DeviceOption::kOneWrite) {
    app.add_option("--path", options_.source, "The directory or file on the host to restore")
        ->required()
        ->type_name("PATH");
    app.add_option("--restore-path", options_.restore_path, "The directory in the volume (default: the root)")
        ->type_name("VOLUME-PATH");
    app.add_flag("--force", options_.force, "Replace existing files that differ");
    app.add_flag("--partial", options_.partial,
                 "Restore the undamaged files of an unfinished or damaged backup");
    AddJobs(app, options_.jobs);
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
    options_.stop = &StopOnInterrupt();
    TransferConsole shown(console, "restore", json_);
    const auto summary = RunRestore(*volume, options_, shown);
    const Status unmounted = device_.Unmount(*volume, console);
    ZENFS_RETURN_IF_ERROR(summary);
    ZENFS_RETURN_IF_ERROR(unmounted);
    shown.Summarize(Json{{"files", summary->files},
                         {"bytes", summary->bytes},
                         {"already_there", summary->already_there},
                         {"left_out", summary->left_out},
                         {"unreachable", summary->unreachable},
                         {"directories", summary->directories}},
                    fmt::format("Restored {}, {} ({} already there)", Counted(summary->files, "file"),
                                ShortBytes(summary->bytes), summary->already_there));
    if (summary->unreachable == 0) return 0;
    console.PrintError(fmt::format("zenfs restore: {}, named above, could not be restored",
                                   Counted(summary->unreachable, "name")));
    return 1;
  }

 private:
  DeviceOption device_;
  RestoreOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeRestore(CLI::App& app) { return MakeAction<RestoreAction>(app); }

}  // namespace zenfs
