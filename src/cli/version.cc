#include <fmt/format.h>

#include "cli/flags.h"
#include "cli/verbs.h"
#include "format/superblock.h"

namespace zenfs {
namespace {

class VersionAction : public Action {
 public:
  explicit VersionAction(CLI::App& app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    if (json_) {
      console.PrintJson(Json{{"version", ZENFS_VERSION}, {"format", kFormatVersion}});
    } else {
      console.Print(fmt::format("zenfs {}, on-disk format {}\n", ZENFS_VERSION, kFormatVersion));
    }
    return 0;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeVersion(CLI::App& app) { return MakeAction<VersionAction>(app); }

}  // namespace zenfs
