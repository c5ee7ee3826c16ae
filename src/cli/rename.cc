#include "cli/two_names.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class RenameAction : public Action {
 public:
  explicit RenameAction(CLI::App& app)
      : names_(app, "The file or directory", "Its new name; a file of that name is replaced") {}

  Result<int> Run(Console& console) override { return names_.Apply(console, &Volume::Rename); }

 private:
  const TwoNames names_;
};

}  // namespace

std::unique_ptr<Action> MakeRename(CLI::App& app) { return MakeAction<RenameAction>(app); }

}  // namespace zenfs
