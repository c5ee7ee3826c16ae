#include <fmt/format.h>

#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/local_time.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

std::string Joined(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

class ListAction : public Action {
 public:
  explicit ListAction(CLI::App& app) : device_(app) {
    app.add_option("--path", path_, "The directory, or one file (default: the root)")
        ->type_name("VOLUME-PATH");
    app.add_flag("--recursive", recursive_, "Also list the directories below it");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    const std::string path = NormalizePath(path_);
    ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume->Stat(path));
    if (stat.is_directory) {
      ZENFS_RETURN_IF_ERROR(ListDirectory(*volume, path, ""));
    } else {
      Add(path.substr(path.rfind('/') + 1), stat);
    }
    if (json_) {
      console.PrintJson(Json{{"path", path}, {"entries", entries_}});
    } else {
      console.Print(lines_);
    }
    return 0;
  }

 private:
  // `shown`: the prefix of the printed names below `path`.
  Status ListDirectory(const Volume& volume, const std::string& path, const std::string& shown) {
    ZENFS_ASSIGN_OR_RETURN(const auto entries, volume.List(path));
    for (const DirectoryEntry& entry : entries) {
      const std::string name = Joined(shown, entry.name);
      Add(name, entry.stat);
      if (!entry.stat.is_directory || !recursive_) continue;
      ZENFS_RETURN_IF_ERROR(ListDirectory(volume, Joined(path, entry.name), name));
    }
    return {};
  }

  void Add(const std::string& name, const FileStat& stat) {
    if (!json_) {
      lines_ += fmt::format("{:>12}    {:<32}{}{}\n", stat.size, FormatTime(stat.mtime_seconds),
                            Printable(name), stat.is_directory ? "/" : "");
      return;
    }
    Json entry{{"name", name},
               {"type", stat.is_directory ? "directory" : "file"},
               {"size", stat.size},
               {"mtime", stat.mtime_seconds}};
    if (!stat.is_directory) {
      entry["links"] = stat.links;
      entry["lifetime"] = LifetimeName(stat.lifetime);
      entry["framed"] = stat.shape == FileShape::kFramed;
    }
    entries_.push_back(std::move(entry));
  }

  DeviceOption device_;
  std::string path_;
  bool recursive_ = false;
  bool json_ = false;
  std::string lines_;
  Json entries_ = Json::array();
};

}  // namespace

std::unique_ptr<Action> MakeList(CLI::App& app) { return MakeAction<ListAction>(app); }

}  // namespace zenfs
