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

std::unique_ptr<Action> MakeRmdir(CLI::App& app) { return MakeAction<RmdirAction>(app); }

}  // namespace zenfs
