#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

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

}  // namespace

std::unique_ptr<Action> MakeDelete(CLI::App& app) { return MakeAction<DeleteAction>(app); }

}  // namespace zenfs
