#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/number.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "metalog/probe.h"
#include "metalog/replay.h"

namespace zenfs {
namespace {

void AddFeatures(const Superblock& sb, Figures& figures) {
  figures.Add("Features", "features",
              Json{{"compatible", sb.compatible},
                   {"read_only_compatible", sb.read_only_compatible},
                   {"incompatible", sb.incompatible}},
              fmt::format("compatible {:#x}, read-only-compatible {:#x}, incompatible {:#x}", sb.compatible,
                          sb.read_only_compatible, sb.incompatible));
  if (sb.was_older()) figures.Add("Upgraded", "upgraded", true, "from the older ZenFS");
}

void AddSuperblock(const Superblock& sb, std::span<const ZoneId> all_metadata_zones, Figures& figures) {
  std::vector<std::uint32_t> metadata_zones;
  for (const ZoneId zone : all_metadata_zones) metadata_zones.push_back(zone.value);
  figures.Add("UUID", "uuid", sb.uuid.ToString());
  figures.Add("Label", "label", sb.label, sb.label.empty() ? "(none)" : sb.label);
  figures.Add("Aux directory", "aux_path", sb.aux_path, sb.aux_path.empty() ? "(none)" : sb.aux_path);
  figures.Add("Format", "format", sb.version);
  figures.Add("Made by", "made_by", sb.made_by);
  figures.Add("Created", "created", sb.created_seconds, FormatTime(sb.created_seconds));
  if (sb.is_older()) {
    figures.Add("Flags", "flags", sb.compatible, fmt::format("{:#x}", sb.compatible));
  } else {
    AddFeatures(sb, figures);
  }
  figures.Add("Finish threshold", "finish_threshold_percent", sb.finish_threshold_percent,
              fmt::format("{}%", sb.finish_threshold_percent));
  figures.Add("Block size", "block_size", sb.block_size, FormatSize(sb.block_size));
  figures.Add("Zone size", "zone_size", sb.zone_size, FormatSize(sb.zone_size));
  figures.Add("Zones", "zones", sb.zone_count);
  if (sb.has_log_device()) {
    figures.Add("Logs", "log_device", Json{{"name", sb.peer}, {"zones", sb.log_zones}},
                fmt::format("in the last {} zones, on a second device: {} at mkfs", sb.log_zones, sb.peer));
  }
  figures.Add("Metadata zones", "metadata_zones", metadata_zones,
              fmt::format("{}", fmt::join(metadata_zones, ", ")));
}

void AddDevice(const ZonedDevice& device, Figures& figures) {
  const Geometry& g = device.geometry();
  figures.Add("Device", "device", device.name());
  figures.Add("Open zones at most", "max_open", g.max_open, FormatLimit(g.max_open));
  figures.Add("Active zones at most", "max_active", g.max_active, FormatLimit(g.max_active));
  figures.Add("Zone append at most", "max_append_bytes", g.max_append_bytes,
              g.max_append_bytes == 0 ? "none" : FormatSize(g.max_append_bytes));
  figures.Add("Copy at most", "max_copy_bytes", g.max_copy_bytes,
              g.max_copy_bytes == 0 ? "none" : FormatSize(g.max_copy_bytes));
  figures.Add("Random write area", "random_area",
              RandomAreaJson(g.random_area_bytes, g.random_area_unit, g.random_area_zones),
              RandomAreaText(g.random_area_bytes, g.random_area_unit, g.random_area_zones));
  figures.Add("Volatile write cache", "volatile_cache", g.LosesUnflushed(),
              g.LosesUnflushed() ? "yes" : "no");
}

void AddMounted(const Volume& volume, Figures& figures) {
  const VolumeCounters counters = volume.counters();
  figures.Add("Metadata generation", "metadata_generation", counters.metalog.generation);
  figures.Add("Last commit", "last_commit", counters.metalog.sequence);
  figures.Add("Mount epoch", "epoch", counters.epoch);
  const std::vector<std::string> notices = volume.notices();
  figures.Add("Notices", "notices", notices,
              notices.empty() ? "none" : fmt::format("{}", fmt::join(notices, "; ")));
}

class FsInfoAction : public Action {
 public:
  explicit FsInfoAction(CLI::App& app) : device_(app) { AddJson(app, json_); }

  // Shows the superblock even if the file system is too damaged to mount.
  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(NamedDevice named, device_.Open(OpenMode::kReadOnly));
    ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeReadable(*named.device));
    Figures figures;
    AddDevice(*named.device, figures);
    AddSuperblock(superblock, MetadataZones(*named.device, superblock), figures);
    const auto volume = Volume::Mount(std::move(named.device), named.mount_options);
    if (volume) AddMounted(**volume, figures);
    figures.Print(console, json_);
    if (!volume) return Fail(volume.error());
    return 0;
  }

 private:
  DeviceOption device_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeFsInfo(CLI::App& app) { return MakeAction<FsInfoAction>(app); }

}  // namespace zenfs
