#include "upgrade/upgrade.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "base/counted.h"
#include "base/short_bytes.h"
#include "base/unique_fd.h"
#include "cli/consent.h"
#include "cli/console.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "metalog/probe.h"
#include "upgrade/upgrade_plan.h"
#include "volume/fsck/check_volume.h"

namespace zenfs {
namespace {

// The rate for "how long": of a slow disk.
constexpr std::uint64_t kBytesPerSecond = 100 << 20;

std::vector<std::uint32_t> Numbers(const std::vector<ZoneId>& zones) {
  std::vector<std::uint32_t> numbers;
  for (const ZoneId zone : zones) numbers.push_back(zone.value);
  return numbers;
}

// The process that has a lock on the file, as RocksDB has on the LOCK of an open database.
std::optional<pid_t> LockedBy(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (!fd.valid() || ::fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid;
}

// The older ZenFS locks a block device, but not the files of a zonefs. But its databases have their LOCK in its auxiliary directory.
// Bounds, because the directory is named by the device.
Status CheckNotOpen(const std::string& aux_path) {
  constexpr std::size_t kEntriesMax = 100'000;
  constexpr int kDepthMax = 16;
  namespace fs = std::filesystem;
  if (aux_path.empty()) return {};
  std::error_code error;
  fs::recursive_directory_iterator at(aux_path, fs::directory_options::skip_permission_denied, error);
  for (std::size_t n = 0; !error && at != fs::recursive_directory_iterator() && n < kEntriesMax;
       ++n, at.increment(error)) {
    if (at.depth() >= kDepthMax) at.disable_recursion_pending();
    std::error_code unknown;
    if (at->path().filename() != "LOCK" || !fs::is_regular_file(at->symlink_status(unknown))) continue;
    if (const auto pid = LockedBy(at->path())) {
      return Fail(
          Code::kBusy,
          fmt::format("{} is locked by process {}: a database of the older ZenFS is open; close it first",
                      at->path().string(), *pid));
    }
  }
  return {};
}

std::uint64_t BytesToMove(const UpgradePlan& plan) {
  return 3 * plan.rewritten_bytes + (plan.copies + 2) * plan.snapshot_bytes + plan.older_log_bytes;
}

void PrintPlan(const UpgradePlan& plan, const std::string& save_to, Console& console) {
  for (const std::string& loss : plan.losses) console.Print(fmt::format("lost: {}\n", Printable(loss)));
  if (plan.losses.omitted() != 0)
    console.Print(fmt::format("lost: {}, not listed\n", Counted(plan.losses.omitted(), "more part")));
  console.Print(fmt::format("The upgrade of {} (format {}, by {}) would:\n", plan.older.uuid.ToString(),
                            plan.older.version, Printable(plan.older.made_by)));
  std::size_t number = 0;
  const auto step = [&](const std::string& text) {
    console.Print(fmt::format("{:>3}. {}\n", ++number, text));
  };
  step(fmt::format("copy the older metadata to {}, so that --undo can restore it", Printable(save_to)));
  if (!plan.rewritten.empty()) {
    step(fmt::format("write {} of {} anew and verify them: this ZenFS can't have their extents as they are",
                     ShortBytes(plan.rewritten_bytes), Counted(plan.rewritten.size(), "file")));
  }
  step(fmt::format("write the metadata of {} and {}, {}, in {}, and read it back",
                   Counted(plan.files, "file"), Counted(plan.directories, "directory", "directories"),
                   ShortBytes(plan.snapshot_bytes), plan.copies == 2 ? "two copies" : "one copy"));
  step(
      fmt::format("reset the older metadata in zone {}: from then on it is a volume of this ZenFS, format {}",
                  plan.older_log.value, plan.superblock.version));
  console.Print(fmt::format("{} stay where they are. It reads and writes {}, about {} at {} a second.\n",
                            ShortBytes(plan.staying_bytes), ShortBytes(BytesToMove(plan)),
                            Counted(BytesToMove(plan) / kBytesPerSecond + 1, "second"),
                            ShortBytes(kBytesPerSecond)));
  if (plan.copies == 1) {
    console.Print(fmt::format(
        "The metadata will have one copy, because {}: the loss of one zone can cost the file system.\n",
        plan.why_one_copy));
  }
  if (plan.empty_after < plan.wanted_empty) {
    console.Print(fmt::format(
        "{} will be empty, and logs and reclaim want {}: delete files soon, or writes may find no space.\n",
        Counted(plan.empty_after, "zone"), plan.wanted_empty));
  }
}

Json PlanJson(const UpgradePlan& plan, const std::string& save_to) {
  Json files = Json::array();
  for (const RewrittenPart& part : plan.rewritten) files.push_back(part.path);
  return Json{{"uuid", plan.older.uuid.ToString()},
              {"from_format", plan.older.version},
              {"to_format", plan.superblock.version},
              {"files", plan.files},
              {"directories", plan.directories},
              {"staying_bytes", plan.staying_bytes},
              {"rewritten_bytes", plan.rewritten_bytes},
              {"rewritten_files", std::move(files)},
              {"metadata_bytes", plan.snapshot_bytes},
              {"metadata_copies", plan.copies},
              {"metadata_zones", Numbers(plan.superblock.metadata_zones)},
              {"moved_bytes", BytesToMove(plan)},
              {"empty_zones_after", plan.empty_after},
              {"losses", plan.losses},
              {"losses_omitted", plan.losses.omitted()},
              {"save_to", save_to}};
}

class UpgradeAction : public Action {
 public:
  explicit UpgradeAction(CLI::App& app) : device_(app) {
    CLI::Option* dry_run = app.add_flag("--dry-run", dry_run_, "Only show the plan");
    CLI::Option* yes = app.add_flag("--yes", yes_, "Do not ask");
    CLI::Option* save = app.add_option("--save", save_to_,
                                       "The new file for a copy of the older metadata "
                                       "(default: zenfs-metadata-UUID-TIME.zmeta in this directory)")
                            ->type_name("FILE");
    app.add_option(
           "--undo", undo_,
           "Make it a volume of the older ZenFS again, with that copy; until the first read-write mount")
        ->type_name("FILE")
        ->excludes(dry_run)
        ->excludes(yes)
        ->excludes(save);
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    if (!undo_.empty()) return Undo(console);
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named,
                           device_.Open(dry_run_ ? OpenMode::kReadOnly : OpenMode::kExclusive));
    const Result<UpgradePlan> plan = PlanUpgrade(*named.device);
    if (!plan && plan.error().code() == Code::kExists)
      return NothingToDo(*named.device, plan.error(), console);
    if (!plan) return Fail(plan.error());
    ZENFS_RETURN_IF_ERROR(CheckNotOpen(plan->older.aux_path));
    const std::string save_to = save_to_.empty() ? DefaultSaveFile(plan->older.uuid) : save_to_;
    if (!json_) PrintPlan(*plan, save_to, console);
    Json json{{"plan", PlanJson(*plan, save_to)}};
    const auto end = [&](std::string_view outcome) {
      json["outcome"] = outcome;
      if (json_) console.PrintJson(json);
      return 0;
    };
    if (dry_run_) return end("dry run");
    ZENFS_ASSIGN_OR_RETURN(const bool agreed, MayGoOn(console, yes_, json_));
    if (!agreed) {
      console.Print("Nothing was changed.\n");
      return 1;
    }
    if (!yes_) ZENFS_RETURN_IF_ERROR(CheckUnchanged(*named.device, *plan));
    const Status done = CarryOutUpgrade(
        *named.device, *plan, save_to,
        [&](std::uint64_t bytes, std::uint64_t of) { console.Progress("writing anew", bytes, of); });
    console.EndProgress();
    if (!done.ok()) return Fail(done.error().With("the upgrade did not end; run it again"));
    ZENFS_ASSIGN_OR_RETURN(const CheckReport report, CheckVolume(*named.device, CheckOptions{}));
    if (!json_) PrintDone(*plan, save_to, console);
    json["clean"] = report.clean();
    end("upgraded");
    if (report.clean()) return 0;
    return Fail(Code::kCorruption, "the upgraded volume has findings: run zenfs check");
  }

 private:
  // The older program takes no lock on a zonefs, so it may have begun while the question was asked.
  static Status CheckUnchanged(ZonedDevice& device, const UpgradePlan& shown) {
    ZENFS_RETURN_IF_ERROR(CheckNotOpen(shown.older.aux_path));
    ZENFS_ASSIGN_OR_RETURN(const UpgradePlan now, PlanUpgrade(device));
    if (now.older_sequence == shown.older_sequence && now.older_log == shown.older_log &&
        now.older_log_bytes == shown.older_log_bytes)
      return {};
    return Fail(Code::kBusy,
                fmt::format("{}: the older ZenFS has written to the volume since the plan was shown; "
                            "close its databases and run it again",
                            device.name()));
  }

  Result<int> NothingToDo(ZonedDevice& device, const Error& why, Console& console) const {
    bool ended = false;
    if (!dry_run_) {
      ZENFS_ASSIGN_OR_RETURN(ended, EndInterruptedUndo(device));
    }
    if (json_) {
      console.PrintJson(Json{{"outcome", ended ? "stays upgraded" : "nothing to do"}});
    } else {
      console.Print(
          ended ? "The undo that was interrupted is dropped: the volume stays as the upgrade made it.\n"
                : fmt::format("{}; there is nothing to do.\n", why.text()));
    }
    return 0;
  }

  static void PrintDone(const UpgradePlan& plan, const std::string& save_to, Console& console) {
    console.Print(fmt::format("Done. Copy of the older metadata: {}\n", Printable(save_to)));
    if (!plan.older.aux_path.empty()) {
      console.Print(fmt::format(
          "LOG and LOCK of its databases are in the volume from now on; the old ones stay in {}.\n",
          Printable(plan.older.aux_path)));
    }
    console.Print("The next zenfs scrub computes the checksums of its files.\n");
  }

  Result<int> Undo(Console& console) const {
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kExclusive));
    if (const auto found = ProbeReadable(*named.device)) ZENFS_RETURN_IF_ERROR(CheckNotOpen(found->aux_path));
    ZENFS_RETURN_IF_ERROR(UndoUpgrade(*named.device, undo_));
    if (json_) {
      console.PrintJson(Json{{"outcome", "undone"}, {"saved", undo_}});
    } else {
      console.Print(fmt::format("It is a volume of the older ZenFS again, with the metadata of {}.\n",
                                Printable(undo_)));
    }
    return 0;
  }

  DeviceOption device_;
  bool dry_run_ = false;
  bool yes_ = false;
  std::string save_to_;  // empty: a name made of volume and time, in the current directory
  std::string undo_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeUpgrade(CLI::App& app) { return MakeAction<UpgradeAction>(app); }

}  // namespace zenfs
