#include "backup/backup.h"

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

// The owner always keeps rw: the next run has to write in these directories.
Result<mode_t> ParseMode(const std::string& text) {
  const auto mode = ParseFileMode(text);
  if (mode && (*mode & 0600) == 0600) return *mode;
  return Fail(
      Code::kInvalidArgument,
      fmt::format("'{}' is no mode of a file: octal, from 600 to 777, with 6 or 7 for the owner", text));
}

class BackupAction : public Action {
 public:
  explicit BackupAction(CLI::App& app) : device_(app) {
    app.add_option("--path", options_.destination, "The directory on the host that the backup goes to")
        ->required()
        ->type_name("DIR");
    app.add_option("--backup-path", options_.path, "What to back up: a directory or a file (default: all)")
        ->type_name("VOLUME-PATH");
    app.add_flag("--force", options_.force,
                 "Also into a directory that is not empty; brings a backup up to date");
    app.add_flag("--verify", options_.verify, "Also read again what an earlier run has copied");
    AddMode(app);
    AddJobs(app, options_.jobs);
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountReadOnly());
    options_.stop = &StopOnInterrupt();
    TransferConsole shown(console, "backup", json_);
    ZENFS_ASSIGN_OR_RETURN(const BackupSummary summary, RunBackup(*volume, options_, shown));
    shown.Summarize(Json{{"files", summary.files},
                         {"bytes", summary.bytes},
                         {"already_there", summary.already_there},
                         {"deleted_meanwhile", summary.deleted_meanwhile},
                         {"directories", summary.directories}},
                    fmt::format("Backed up {}, {} ({} already there)", Counted(summary.files, "file"),
                                ShortBytes(summary.bytes), summary.already_there));
    return 0;
  }

 private:
  void AddMode(CLI::App& app) {
    const auto store = [this](const std::string& text) {
      const auto mode = ParseMode(text);
      if (!mode) throw CLI::ValidationError("--mode", mode.error().text());
      options_.file_mode = *mode;
    };
    app.add_option_function<std::string>(
           "--mode", store, "Mode of the files it makes, octal; directories get x where this has r")
        ->type_name("MODE")
        ->default_str("600");
  }

  DeviceOption device_;
  BackupOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeBackup(CLI::App& app) { return MakeAction<BackupAction>(app); }

}  // namespace zenfs
