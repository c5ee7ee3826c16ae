#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <system_error>
#include <vector>

#include "backends/host/io_scheduler.h"
#include "base/host_directory.h"
#include "base/status.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "discovery/resolve.h"
#include "discovery/volume_device.h"
#include "volume/aux_directory/aux_directory.h"
#include "volume/mkfs.h"

namespace zenfs {
namespace {

constexpr mode_t kDirectoryMode =
    0755;  // not writable by others, whatever the umask: the plugin refuses such a directory

// A directory of the host that mkfs needs. Creates it if it is missing, and removes it again if mkfs fails.
class MadeDirectory {
 public:
  // `path` may be relative to the working directory. Also creates missing parents. Follows no symbolic link, and refuses
  // directories of other users on the way. Errors: those of HostDirectory::OpenTrusted.
  [[nodiscard]] static Result<MadeDirectory> Ensure(const std::string& path);
  ~MadeDirectory();  // removes the directories that Ensure created, unless Keep was called
  MadeDirectory(MadeDirectory&& other) noexcept = default;
  MadeDirectory& operator=(MadeDirectory&&) = delete;

  void Keep() { made_.clear(); }
  // Absolute, without a trailing '/'. No part of it is a symbolic link.
  const std::string& path() const { return path_; }

 private:
  MadeDirectory() = default;

  std::string path_;
  std::vector<std::string> made_;  // outermost first
};

Result<MadeDirectory> MadeDirectory::Ensure(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (path.empty() || error) return Fail(Code::kInvalidArgument, fmt::format("'{}' is no directory", path));
  if (!absolute.has_filename() && absolute.has_relative_path()) absolute = absolute.parent_path();
  MadeDirectory directory;
  directory.path_ = absolute.string();
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory root, HostDirectory::OpenTrusted("/"));
  if (absolute.has_relative_path()) {
    ZENFS_ASSIGN_OR_RETURN(const HostDirectory entered, root.EnterTrusted(absolute.relative_path().string(),
                                                                          kDirectoryMode, &directory.made_));
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, entered.StatSelf());
    if ((stat.mode & S_IWOTH) != 0) {
      return Fail(Code::kPermission,
                  fmt::format("{}: all users may make files in it, and could keep the database from opening; "
                              "name a directory in it",
                              directory.path_));
    }
  }
  return directory;
}

MadeDirectory::~MadeDirectory() {
  for (const std::string& path : made_ | std::views::reverse) ::rmdir(path.c_str());
}

// Returns the zoned disk that `uri` names, or that is below the zonefs it names, if its scheduler
// prevents opening it for writing.
std::optional<BlockFacts> ReorderingDisk(const DeviceUri& uri) {
  const KnownDevices known = FindDevices(SearchPlaces{}, {uri});
  const std::optional<BlockFacts>& disk = known.devices.front().block;
  if (!disk || disk->partition || disk->model != ZonedModel::kHostManaged || KeepsWritesInOrder(*disk)) {
    return std::nullopt;
  }
  return disk;
}

class MkfsAction : public Action {
 public:
  explicit MkfsAction(CLI::App& app) : device_(app) {
    app.add_flag("--force", options_.force, "Replace the contents of the device");
    AddCount(app, "--finish-threshold", options_.finish_threshold_percent,
             "For scripts of the older ZenFS: recorded, without effect", 100)
        ->type_name("PCT");
    AddCount(app, "--metadata-zones", options_.metadata_zones,
             "Set aside so many zones for metadata, for very many files (default: by the size of the device)",
             kMaxMetadataZones)
        ->type_name("COUNT");
    app.add_option("--label", options_.label, "A name for the file system")->type_name("TEXT");
    app.add_option("--uuid", uuid_, "Its identity (default: a new one)")->type_name("UUID");
    app.add_option("--aux-path", aux_path_,
                   "Keep LOG and LOCK of databases in this directory of the host (default: in the volume)")
        ->type_name("DIR");
    app.add_option("--waldev", waldev_,
                   "Keep the logs of databases on this second device (default: on the same one)")
        ->type_name("URI");
    app.add_flag(
        "--set-scheduler", set_scheduler_,
        "Set the disk's I/O scheduler to mq-deadline if it may reorder writes on this kernel (needs root)");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    if (!uuid_.empty()) {
      options_.uuid = Uuid::Parse(uuid_);
      if (!options_.uuid) {
        return Fail(
            Code::kInvalidArgument,
            fmt::format("--uuid: '{}' is not of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", uuid_));
      }
    }
    ZENFS_ASSIGN_OR_RETURN(const DeviceUri named_by, device_.Uri(OpenMode::kExclusive));
    ZENFS_ASSIGN_OR_RETURN(ResolvedUri uri, ResolveUri(named_by));
    ZENFS_ASSIGN_OR_RETURN(const std::optional<DeviceUri> log_uri, LogDeviceOf(uri.uri));
    ZENFS_ASSIGN_OR_RETURN(const FormatReport report, Format(uri, log_uri, console));
    if (json_) {
      Json zones = Json::array();
      for (const ZoneId zone : report.metadata_zones) zones.push_back(zone.value);
      console.PrintJson(Json{{"uuid", report.uuid.ToString()},
                             {"free_bytes", report.free_bytes},
                             {"metadata_zones", std::move(zones)},
                             {"metadata_copies", report.metadata_copies}});
    } else {
      console.Print(
          fmt::format("ZenFS file system created. Free space: {} MB\n", WholeMegabytes(report.free_bytes)));
      if (report.metadata_copies == 1) {
        console.Print(fmt::format(
            "The metadata has one copy, because {}: the loss of one zone can cost the file system.\n",
            report.why_one_copy));
      }
    }
    return 0;
  }

 private:
  Result<FormatReport> Format(const ResolvedUri& uri, const std::optional<DeviceUri>& log_uri,
                              Console& console) {
    ZENFS_ASSIGN_OR_RETURN(const NamedDevice main, OpenOrdered(uri.uri, console));
    if (uri.judged) ZENFS_RETURN_IF_ERROR(uri.judged->CheckIsStill(*main.device, uri.uri));
    if (!log_uri) return WithAuxDirectory([&] { return FormatVolume(*main.device, options_); });
    ZENFS_ASSIGN_OR_RETURN(const NamedDevice logs, OpenOrdered(*log_uri, console));
    const TwoDevices devices{.main = *main.device,
                             .logs = *logs.device,
                             .main_name = Canonical(uri.uri),
                             .logs_name = Canonical(*log_uri)};
    return WithAuxDirectory([&] { return FormatTwoDevices(devices, options_); });
  }

  // The second device, by --waldev or the option waldev of the URI, which is removed from it.
  Result<std::optional<DeviceUri>> LogDeviceOf(DeviceUri& uri) const {
    ZENFS_ASSIGN_OR_RETURN(std::optional<DeviceUri> named, TakeLogDevice(uri));
    if (waldev_.empty()) return named;
    if (named) return Fail(Code::kInvalidArgument, "--waldev: the option waldev of the URI names one too");
    Result<DeviceUri> parsed = ParseDeviceUri(waldev_);
    if (!parsed) return Fail(parsed.error().With("--waldev"));
    return *std::move(parsed);
  }

  // Opens the device and prints its notices. If its scheduler may reorder writes, offers to change the scheduler.
  Result<NamedDevice> OpenOrdered(const DeviceUri& uri, Console& console) const {
    Result<NamedDevice> opened = OpenWithScheduler(uri, console);
    if (!opened) return opened;
    for (const std::string& notice : opened->device->notices()) {
      console.PrintError(fmt::format("zenfs mkfs: note: {}", Printable(notice)));
    }
    return opened;
  }

  Result<NamedDevice> OpenWithScheduler(const DeviceUri& uri, Console& console) const {
    Result<NamedDevice> opened = OpenSingleDevice(uri, OpenMode::kExclusive);
    if (opened || opened.error().code() != Code::kInvalidArgument) return opened;
    const std::optional<BlockFacts> disk = ReorderingDisk(uri);
    if (!disk) return opened;
    if (!set_scheduler_) {
      return Fail(Code::kInvalidArgument, opened.error().text() + "; or run this again with --set-scheduler");
    }
    ZENFS_RETURN_IF_ERROR(SetScheduler(disk->name, kOrderedScheduler));
    console.PrintError(
        fmt::format("zenfs mkfs: note: the scheduler of {} is {} now, was {}; until the next start of this "
                    "host (packaging/udev/60-zenfs.rules keeps it)",
                    disk->name, kOrderedScheduler, *disk->scheduler));
    return OpenSingleDevice(uri, OpenMode::kExclusive);
  }

  // `format` uses options_.
  Result<FormatReport> WithAuxDirectory(const std::function<Result<FormatReport>()>& format) {
    if (aux_path_.empty()) return format();
    Result<MadeDirectory> aux = MadeDirectory::Ensure(aux_path_);
    if (!aux) return Fail(aux.error().With("--aux-path"));
    options_.aux_path = aux->path();
    options_.aux_secret = Uuid::Generate();
    if (!options_.uuid) options_.uuid = Uuid::Generate();
    ZENFS_ASSIGN_OR_RETURN(HostDirectory entered, HostDirectory::OpenTrusted(aux->path()));
    Result<AuxMarker> marker = AuxMarker::Prepare(std::move(entered), *options_.uuid, options_.aux_secret);
    if (!marker) return Fail(marker.error().With("--aux-path"));
    ZENFS_ASSIGN_OR_RETURN(FormatReport report, format());
    aux->Keep();
    ZENFS_RETURN_IF_ERROR(marker->Keep());
    return report;
  }

  DeviceOption device_;
  FormatOptions options_;
  std::string uuid_;
  std::string aux_path_;
  std::string waldev_;
  bool set_scheduler_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeMkfs(CLI::App& app) { return MakeAction<MkfsAction>(app); }

}  // namespace zenfs
