#include <algorithm>
#include <map>

#include "backup/volume_tree.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// Members with names of the older command have the same meaning. `start` and `wp` are in bytes on
// the device.
Json ToJson(const ZoneStatus& zone, const Geometry& geometry) {
  const std::uint64_t start = geometry.ZoneStart(zone.id).value;
  return {{"start", start},
          {"capacity", zone.capacity - std::min(zone.written, zone.capacity)},
          {"max_capacity", zone.capacity},
          {"wp", start + zone.written},
          {"lifetime", static_cast<int>(zone.lifetime)},
          {"used_capacity", zone.live},
          {"phase", PhaseName(zone.phase)}};
}

Json ToJson(const std::vector<Extent>& extents) {
  Json list = Json::array();
  for (const Extent& extent : extents)
    list.push_back({{"start", extent.place.value}, {"length", extent.length}});
  return list;
}

class DumpAction : public Action {
 public:
  explicit DumpAction(CLI::App& app) : device_(app) {
    AddJson(app, json_)->description("Changes nothing: it is JSON always");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.Mount(OpenMode::kReadOnly, console));
    Json meta = Json::array();
    Json io = Json::array();
    for (const ZoneStatus& zone : volume->Zones()) {
      (zone.phase == ZonePhase::kMetadata ? meta : io).push_back(ToJson(zone, volume->info().geometry));
    }
    ZENFS_ASSIGN_OR_RETURN(const VolumeTree tree, WalkVolume(*volume, ""));
    ZENFS_ASSIGN_OR_RETURN(Json files, Files(*volume, tree));
    console.PrintJson(Json{{"zones", {{"meta", std::move(meta)}, {"io", std::move(io)}}},
                           {"files", std::move(files)},
                           {"directories", tree.directories}});
    return 0;
  }

 private:
  // One object per file, with all its names.
  static Result<Json> Files(const Volume& volume, const VolumeTree& tree) {
    std::map<FileId, std::vector<const VolumeFile*>> by_id;
    for (const VolumeFile& file : tree.files) by_id[file.stat.id].push_back(&file);
    Json list = Json::array();
    for (const auto& [id, names] : by_id) {
      const auto layout = volume.Layout(names.front()->path);
      if (!layout && layout.error().code() == Code::kNotFound) continue;  // deleted by a concurrent writer
      if (!layout) return Fail(layout.error());
      const FileStat& stat = names.front()->stat;
      Json paths = Json::array();
      for (const VolumeFile* name : names) paths.push_back(name->path);
      list.push_back({{"id", id.value},
                      {"size", stat.size},
                      {"hint", static_cast<int>(stat.lifetime)},
                      {"filename", std::move(paths)},
                      {"extents", ToJson(layout->extents)},
                      {"frames", ToJson(layout->frames)},
                      {"shape", stat.shape == FileShape::kFramed ? "framed" : "plain"},
                      {"mtime", stat.mtime_seconds}});
    }
    return list;
  }

  DeviceOption device_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDump(CLI::App& app) { return MakeAction<DumpAction>(app); }

}  // namespace zenfs
