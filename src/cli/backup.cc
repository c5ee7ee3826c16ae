// The verbs backup and restore.
#include <fmt/format.h>

#include <string>

#include "backup/backup.h"
#include "backup/restore.h"
#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/transfer_console.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// The owner always keeps rw, because the next run has to write in these directories.
Result<mode_t> ParseMode(const std::string& text) {
  const auto mode = ParseFileMode(text);
  if (mode && (*mode & 0600) == 0600) return *mode;
  return Fail(
      Code::kInvalidArgument,
      fmt::format("'{}' is not a file mode: give octal digits from 600 to 777, with 6 or 7 for the owner",
                  text));
}

class BackupAction : public Action {
 public:
  explicit BackupAction(CLI::App& app) : device_(app) {
    app.add_option("--path", options_.destination, "The directory on the host that the backup goes to")
        ->required()
        ->type_name("DIR");
    app.add_option("--backup-path", options_.path, "The directory or file to back up (default: all)")
        ->type_name("VOLUME-PATH");
    app.add_flag("--force", options_.force, "Use a directory that is not empty, or update a backup");
    app.add_flag("--verify", options_.verify, "Also compare files that an earlier run has copied");
    app.add_flag("--without-unsynced", options_.without_unsynced,
                 "Back up although bytes that a writer flushed and did not sync can't be read here");
    AddMode(app);
    AddJobs(app, options_.jobs);
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    options_.stop = &StopOnInterrupt();
    TransferConsole shown(console, "backup", json_);
    ZENFS_ASSIGN_OR_RETURN(const BackupSummary summary, RunBackup(*volume, options_, shown));
    shown.Summarize(Json{{"files", summary.files},
                         {"bytes", summary.bytes},
                         {"already_there", summary.already_there},
                         {"deleted_meanwhile", summary.deleted_meanwhile},
                         {"left_out", summary.left_out},
                         {"directories", summary.directories}},
                    fmt::format("Backed up {}, {} ({} already there)", Counted(summary.files, "file"),
                                ShortBytes(summary.bytes), summary.already_there));
    if (summary.left_out == 0) return 0;
    console.PrintError(
        fmt::format("zenfs backup: the backup lacks {}, named above", Counted(summary.left_out, "name")));
    return 1;
  }

 private:
  void AddMode(CLI::App& app) {
    const auto store = [this](const std::string& text) {
      const auto mode = ParseMode(text);
      if (!mode) throw CLI::ValidationError("--mode", mode.error().text());
      options_.file_mode = *mode;
    };
    app.add_option_function<std::string>("--mode", store,
                                         "Octal mode of new files; directories also get x where it has r")
        ->type_name("MODE")
        ->default_str("600");
  }

  DeviceOption device_;
  BackupOptions options_;
  bool json_ = false;
};

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

std::unique_ptr<Action> MakeBackup(CLI::App& app) { return MakeAction<BackupAction>(app); }

std::unique_ptr<Action> MakeRestore(CLI::App& app) { return MakeAction<RestoreAction>(app); }

}  // namespace zenfs
