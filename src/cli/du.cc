#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backup/volume_tree.h"
#include "base/short_bytes.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/json.h"
#include "cli/verbs.h"
#include "zone/zone_states.h"

namespace zenfs {
namespace {

struct Usage {
  std::uint64_t files = 0;
  std::uint64_t size = 0;       // as `list` shows it, in bytes
  std::uint64_t on_device = 0;  // blocks and frames, as `df` counts them, in bytes

  Usage& operator+=(const Usage& other) {
    files += other.files;
    size += other.size;
    on_device += other.on_device;
    return *this;
  }
};

std::uint64_t RoomOf(const FileLayout& layout, std::uint32_t block_size) {
  std::uint64_t room = layout.frame_bytes;
  for (const Extent& extent : layout.extents) room += BlocksOf(extent, block_size).bytes;
  return room;
}

// The directories below a path, each with what it and all below it use. A file with several names counts once, at its first name.
class UsageTree {
 public:
  // `path` is normalised. Errors: those of Volume::Stat and of a walk.
  static Result<UsageTree> Of(const Volume& volume, const std::string& path) {
    UsageTree tree;
    ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume.Stat(path));
    if (stat.is_directory) {
      ZENFS_RETURN_IF_ERROR(tree.Walk(volume, path));
    } else {
      tree.AddFile(kTopNode, stat);
      tree.order_.push_back(kTopNode);
    }
    ZENFS_RETURN_IF_ERROR(tree.Measure(volume));
    for (const PathNode node : tree.order_) {
      if (node != kTopNode) tree.usage_[tree.paths_.DirectoryOf(node).value] += tree.usage_[node.value];
    }
    return tree;
  }

  // Each directory before the one that it is in; the last is the path itself.
  const std::vector<PathNode>& order() const { return order_; }
  const Usage& UsageOf(PathNode node) const { return usage_[node.value]; }
  std::string PathBelow(const std::string& top, PathNode node) const { return paths_.PathBelow(top, node); }
  const std::string& left_out() const { return left_out_; }  // why some names are missing; empty if none is

 private:
  Status Walk(const Volume& volume, const std::string& path) {
    ZENFS_ASSIGN_OR_RETURN(VolumeWalk walk, VolumeWalk::Begin(volume, path));
    std::uint64_t too_long = 0;
    std::string first_too_long;
    std::vector<PathNode> above{kTopNode};  // the directories in the path of the walk
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(const DirectoryEntry* const entry, walk.Next());
      const std::size_t depth = entry == nullptr ? 0 : walk.depth() + 1;
      for (; above.size() > depth; above.pop_back()) order_.push_back(above.back());
      if (entry == nullptr) break;
      if (!walk.fits()) {
        if (++too_long == 1) first_too_long = walk.relative();
      } else if (entry->stat.is_directory) {
        above.push_back(paths_.Add(above.back(), entry->name));
        usage_.resize(above.back().value + 1);
      } else {
        AddFile(above.back(), entry->stat);
      }
    }
    left_out_ = TooLongText(too_long, first_too_long);
    return {};
  }

  void AddFile(PathNode directory, const FileStat& stat) {
    if (stat.links > 1 && !several_names_.insert(stat.id).second) return;
    files_.emplace_back(stat.id, directory);
    usage_[directory.value] += {.files = 1, .size = stat.size};
  }

  Status Measure(const Volume& volume) {
    std::ranges::sort(files_);
    std::vector<FileId> ids;
    for (const auto& [id, directory] : files_) ids.push_back(id);
    const std::uint32_t block_size = volume.info().geometry.block_size;
    return volume.ForEachLayout(ids, [&](std::size_t i, const FileLayout& layout) -> Status {
      usage_[files_[i].second.value].on_device += RoomOf(layout, block_size);
      return {};
    });
  }

  PathTree paths_;  // directories only
  std::vector<PathNode> order_;
  std::vector<Usage> usage_{Usage()};  // by node
  std::vector<std::pair<FileId, PathNode>> files_;
  std::set<FileId> several_names_;
  std::string left_out_;
};

class DuAction : public Action {
 public:
  explicit DuAction(CLI::App& app) : device_(app, DeviceOption::kOne, DeviceOption::kOwnWords) {
    app.add_option("path", path_, "The directory, or one file (default: the root)")->type_name("VOLUME-PATH");
    app.add_flag("-s,--summarize", summarize_, "Print only the sum");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    const std::string path = NormalizePath(path_);
    ZENFS_ASSIGN_OR_RETURN(const UsageTree tree, UsageTree::Of(*volume, path));
    const std::span<const PathNode> all(tree.order());
    const std::span<const PathNode> shown = summarize_ ? all.last(1) : all;
    if (json_) {
      PrintJson(tree, path, shown, console);
    } else {
      console.Print(fmt::format("{:>12}{:>12}  path\n", "size", "on device"));
      for (const PathNode node : shown) {
        const Usage& usage = tree.UsageOf(node);
        const std::string name = tree.PathBelow(path, node);
        console.Print(fmt::format("{:>12}{:>12}  {}\n", ShortBytes(usage.size), ShortBytes(usage.on_device),
                                  name.empty() ? "/" : Printable(name)));
      }
    }
    if (!tree.left_out().empty()) console.PrintNote("du", tree.left_out());
    return 0;
  }

 private:
  static void PrintJson(const UsageTree& tree, const std::string& path, std::span<const PathNode> shown,
                        Console& console) {
    JsonStream out(console);
    out.Member("path", path);
    out.OpenArray("entries");
    for (const PathNode node : shown) {
      const Usage& usage = tree.UsageOf(node);
      out.Element({{"path", tree.PathBelow(path, node)},
                   {"files", usage.files},
                   {"size", usage.size},
                   {"on_device", usage.on_device}});
    }
    out.Close();
    if (!tree.left_out().empty()) out.Member("left_out", tree.left_out());
    out.End();
  }

  DeviceOption device_;
  std::string path_;
  bool summarize_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDu(CLI::App& app) { return MakeAction<DuAction>(app); }

}  // namespace zenfs
