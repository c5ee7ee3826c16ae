#include <algorithm>
#include <span>

#include "backup/volume_tree.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/json.h"
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

void PrintExtents(std::string_view key, const std::vector<Extent>& extents, JsonStream& out) {
  out.OpenArray(key);
  for (const Extent& extent : extents)
    out.Element({{"start", extent.place.value}, {"length", extent.length}});
  out.Close();
}

class DumpAction : public Action {
 public:
  explicit DumpAction(CLI::App& app) : device_(app) {
    AddJson(app, json_)->description("Changes nothing: it is JSON always");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.Mount(OpenMode::kReadOnly, console));
    const std::vector<ZoneStatus> zones = volume->Zones();
    ZENFS_ASSIGN_OR_RETURN(const VolumeTree tree, WalkVolume(*volume, ""));
    JsonStream out(console);
    out.OpenObject("zones");
    for (const bool meta : {true, false}) {
      out.OpenArray(meta ? "meta" : "io");
      for (const ZoneStatus& zone : zones) {
        if ((zone.phase == ZonePhase::kMetadata) == meta) out.Element(ToJson(zone, volume->info().geometry));
      }
      out.Close();
    }
    out.Close();
    out.OpenArray("files");
    ZENFS_RETURN_IF_ERROR(PrintFiles(*volume, tree, out));
    out.Close();
    out.OpenArray("directories");
    for (const PathNode directory : tree.directories) out.Element(tree.paths.PathOf(directory));
    out.Close();
    std::uint64_t too_long = 0;
    for (const TooLongNames& names : tree.too_long) too_long += 1 + names.more;
    const std::string left_out =
        too_long == 0 ? "" : TooLongText(too_long, tree.paths.PathOf(tree.too_long.front().first));
    if (!left_out.empty()) out.Member("left_out", left_out);
    out.End();
    if (!left_out.empty()) console.PrintNote("dump", left_out);
    return 0;
  }

 private:
  // One object per file, with all its names.
  static Status PrintFiles(const Volume& volume, const VolumeTree& tree, JsonStream& out) {
    std::vector<const VolumeFile*> names;
    for (const VolumeFile& file : tree.files) names.push_back(&file);
    const auto id_of = [](const VolumeFile* file) { return file->stat.id; };
    // Names of one file stay in the order of the tree.
    std::ranges::sort(names, {}, [&](const VolumeFile* file) { return std::pair(id_of(file), file); });
    std::vector<FileId> files;
    std::vector<std::span<const VolumeFile* const>> names_of;
    for (auto first = names.begin(); first != names.end();) {
      const auto last = std::find_if(first, names.end(),
                                     [&](const VolumeFile* file) { return id_of(file) != id_of(*first); });
      files.push_back(id_of(*first));
      names_of.emplace_back(first, last);
      first = last;
    }
    // Without those that a concurrent writer has deleted.
    return volume.ForEachLayout(files, [&](std::size_t i, const FileLayout& layout) -> Status {
      PrintFile(layout, tree, names_of[i], out);
      return {};
    });
  }

  static void PrintFile(const FileLayout& layout, const VolumeTree& tree,
                        std::span<const VolumeFile* const> names, JsonStream& out) {
    const FileStat& stat = names.front()->stat;
    out.OpenElement();
    out.Member("id", stat.id.value);
    out.Member("size", stat.size);
    out.Member("hint", static_cast<int>(stat.lifetime));
    out.OpenArray("filename");
    for (const VolumeFile* name : names) out.Element(tree.PathOf(name->node));
    out.Close();
    PrintExtents("extents", layout.extents, out);
    PrintExtents("frames", layout.frames, out);
    out.Member("shape", stat.shape == FileShape::kFramed ? "framed" : "plain");
    out.Member("mtime", stat.mtime_seconds);
    out.Close();
  }

  DeviceOption device_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDump(CLI::App& app) { return MakeAction<DumpAction>(app); }

}  // namespace zenfs
