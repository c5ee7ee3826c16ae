#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class LinkAction : public Action {
 public:
  explicit LinkAction(CLI::App& app) : device_(app, DeviceOption::kOneWrite) {
    app.add_option("--src-file", from_, "The file")->required()->type_name("VOLUME-PATH");
    app.add_option("--dest-file", to_, "Its further name, which must not be there yet")
        ->required()
        ->type_name("VOLUME-PATH");
  }

  Result<int> Run(Console&) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountReadWrite());
    ZENFS_RETURN_IF_ERROR(volume->Link(from_, to_));
    ZENFS_RETURN_IF_ERROR(volume->Unmount());
    return 0;
  }

 private:
  DeviceOption device_;
  std::string from_;
  std::string to_;
};

}  // namespace

std::unique_ptr<Action> MakeLink(CLI::App& app) { return MakeAction<LinkAction>(app); }

}  // namespace zenfs
