#include <fmt/format.h>

#include <ranges>

#include "backup/volume_tree.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class RmdirAction : public Action {
 public:
  explicit RmdirAction(CLI::App& app) : device_(app, DeviceOption::kOneWrite) {
    app.add_option("--path", path_, "The directory")->required()->type_name("VOLUME-PATH");
    app.add_flag("--force", force_, "Also remove its contents");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
    const std::string path = NormalizePath(path_);
    if (force_) ZENFS_RETURN_IF_ERROR(Empty(*volume, path));
    const Status removed = volume->RemoveDirectory(path);
    if (!removed.ok() && removed.error().code() == Code::kNotEmpty) {
      return Fail(Code::kNotEmpty, removed.error().text() + "; --force also removes its contents");
    }
    ZENFS_RETURN_IF_ERROR(removed);
    ZENFS_RETURN_IF_ERROR(device_.Unmount(*volume, console));
    return 0;
  }

 private:
  // Deletes leaves first, so that a crash leaves a valid directory.
  static Status Empty(Volume& volume, const std::string& path) {
    if (path.empty()) return Fail(Code::kInvalidArgument, "the root directory cannot be removed");
    ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume.Stat(path));
    if (!stat.is_directory) return Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
    ZENFS_ASSIGN_OR_RETURN(const VolumeTree tree, WalkVolume(volume, path));
    for (const VolumeFile& file : tree.files) ZENFS_RETURN_IF_ERROR(volume.Unlink(file.path));
    for (const std::string& directory : std::views::reverse(tree.directories)) {
      ZENFS_RETURN_IF_ERROR(volume.RemoveDirectory(fmt::format("{}/{}", path, directory)));
    }
    return {};
  }

  DeviceOption device_;
  std::string path_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeRmdir(CLI::App& app) { return MakeAction<RmdirAction>(app); }

}  // namespace zenfs
