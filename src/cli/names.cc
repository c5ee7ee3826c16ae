// Verbs that change names in a volume: link, rename, delete, mkdir, rmdir.
#include "cli/device_option.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// Two names in a volume, and one change of the volume.
class TwoNamesAction : public Action {
 public:
  using Change = Status (Volume::*)(std::string_view from, std::string_view to);

  TwoNamesAction(CLI::App& app, const std::string& source_help, const std::string& target_help, Change change)
      : device_(app, DeviceOption::kOneWrite), change_(change) {
    app.add_option("--src-file", from_, source_help)->required()->type_name("VOLUME-PATH");
    app.add_option("--dest-file", to_, target_help)->required()->type_name("VOLUME-PATH");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
    ZENFS_RETURN_IF_ERROR(((*volume).*change_)(from_, to_));
    ZENFS_RETURN_IF_ERROR(device_.Unmount(*volume, console));
    return 0;
  }

 private:
  DeviceOption device_;
  const Change change_;
  std::string from_;
  std::string to_;
};

class DeleteAction : public Action {
 public:
  explicit DeleteAction(CLI::App& app) : device_(app, DeviceOption::kOneWrite) {
    app.add_option("--path", path_, "The file")->required()->type_name("VOLUME-PATH");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
    const Status deleted = volume->Unlink(path_);
    if (!deleted.ok() && deleted.error().code() == Code::kIsADirectory) {
      return Fail(deleted.error().Advise("zenfs rmdir removes directories"));
    }
    ZENFS_RETURN_IF_ERROR(deleted);
    ZENFS_RETURN_IF_ERROR(device_.Unmount(*volume, console));
    return 0;
  }

 private:
  DeviceOption device_;
  std::string path_;
};

class MkdirAction : public Action {
 public:
  explicit MkdirAction(CLI::App& app) : device_(app, DeviceOption::kOneWrite, DeviceOption::kOwnWords) {
    app.add_option("path", path_, "The directory")->required()->type_name("VOLUME-PATH");
    app.add_flag("--parents", parents_, "Also make missing parents; an existing directory is no error");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
    const Status made = volume->MakeDirectory(path_, parents_);
    if (!made.ok() && made.error().code() == Code::kNotFound) {
      return Fail(made.error().Advise("--parents also makes missing parents"));
    }
    ZENFS_RETURN_IF_ERROR(made);
    ZENFS_RETURN_IF_ERROR(device_.Unmount(*volume, console));
    return 0;
  }

 private:
  DeviceOption device_;
  std::string path_;
  bool parents_ = false;
};

class RmdirAction : public Action {
 public:
  explicit RmdirAction(CLI::App& app) : device_(app, DeviceOption::kOneWrite) {
    app.add_option("--path", path_, "The directory")->required()->type_name("VOLUME-PATH");
    app.add_flag("--force", force_, "Also remove its contents");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
    const std::string path = NormalizePath(path_);
    const Status removed = force_ ? volume->RemoveTree(path) : volume->RemoveDirectory(path);
    if (!removed.ok() && removed.error().code() == Code::kNotEmpty) {
      return Fail(Code::kNotEmpty, removed.error().text() + "; --force also removes its contents");
    }
    ZENFS_RETURN_IF_ERROR(removed);
    ZENFS_RETURN_IF_ERROR(device_.Unmount(*volume, console));
    return 0;
  }

 private:
  DeviceOption device_;
  std::string path_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeLink(CLI::App& app) {
  return std::make_unique<TwoNamesAction>(app, "The file", "Its additional name, which must not exist yet",
                                          &Volume::Link);
}

std::unique_ptr<Action> MakeRename(CLI::App& app) {
  return std::make_unique<TwoNamesAction>(app, "The file or directory",
                                          "Its new name; a file of that name is replaced", &Volume::Rename);
}

std::unique_ptr<Action> MakeDelete(CLI::App& app) { return MakeAction<DeleteAction>(app); }

std::unique_ptr<Action> MakeMkdir(CLI::App& app) { return MakeAction<MkdirAction>(app); }

std::unique_ptr<Action> MakeRmdir(CLI::App& app) { return MakeAction<RmdirAction>(app); }

}  // namespace zenfs
