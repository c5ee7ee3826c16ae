#include <fmt/format.h>

#include <optional>

#include "backends/host/io_scheduler.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/made_directory.h"
#include "cli/verbs.h"
#include "discovery/resolve.h"
#include "volume/aux_marker.h"
#include "volume/format_volume.h"

namespace zenfs {
namespace {

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
             "Recorded in the superblock: finish a zone early with less than PCT percent of it left", 100)
        ->type_name("PCT");
    app.add_option("--label", options_.label, "A name for the file system")->type_name("TEXT");
    app.add_option("--uuid", uuid_, "Its identity (default: a new one)")->type_name("UUID");
    app.add_option("--aux-path", aux_path_,
                   "Keep LOG and LOCK of databases in this directory of the host (default: in the volume)")
        ->type_name("DIR");
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
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, OpenOrdered(console));
    for (const std::string& notice : named.device->notices()) {
      console.PrintError(fmt::format("zenfs mkfs: note: {}", Printable(notice)));
    }
    ZENFS_ASSIGN_OR_RETURN(const FormatReport report, Format(*named.device));
    if (json_) {
      Json zones = Json::array();
      for (const ZoneId zone : report.metadata_zones) zones.push_back(zone.value);
      console.PrintJson(Json{{"uuid", report.uuid.ToString()},
                             {"free_bytes", report.free_bytes},
                             {"metadata_zones", std::move(zones)}});
    } else {
      console.Print(
          fmt::format("ZenFS file system created. Free space: {} MB\n", WholeMegabytes(report.free_bytes)));
    }
    return 0;
  }

 private:
  // Opens the device. If its scheduler may reorder writes, offers to change the scheduler.
  Result<NamedDevice> OpenOrdered(Console& console) const {
    ZENFS_ASSIGN_OR_RETURN(const DeviceUri named_by, device_.Uri());
    ZENFS_ASSIGN_OR_RETURN(const DeviceUri uri, ResolveUri(named_by));
    Result<NamedDevice> opened = OpenNamedDevice(uri, OpenMode::kExclusive);
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
    return OpenNamedDevice(uri, OpenMode::kExclusive);
  }

  Result<FormatReport> Format(ZonedDevice& device) {
    if (aux_path_.empty()) return FormatVolume(device, options_);
    Result<MadeDirectory> aux = MadeDirectory::Ensure(aux_path_);
    if (!aux) return Fail(aux.error().With("--aux-path"));
    options_.aux_path = aux->path();
    if (!options_.uuid) options_.uuid = Uuid::Generate();
    Result<AuxMarker> marker = AuxMarker::Prepare(aux->path(), *options_.uuid);
    if (!marker) return Fail(marker.error().With("--aux-path"));
    ZENFS_ASSIGN_OR_RETURN(FormatReport report, FormatVolume(device, options_));
    aux->Keep();
    ZENFS_RETURN_IF_ERROR(marker->Keep());
    return report;
  }

  DeviceOption device_;
  FormatOptions options_;
  std::string uuid_;
  std::string aux_path_;
  bool set_scheduler_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeMkfs(CLI::App& app) { return MakeAction<MkfsAction>(app); }

}  // namespace zenfs
