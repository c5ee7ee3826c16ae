#include "cli/two_names.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class LinkAction : public Action {
 public:
  explicit LinkAction(CLI::App& app)
      : names_(app, "The file", "Its additional name, which must not exist yet") {}

  Result<int> Run(Console& console) override { return names_.Apply(console, &Volume::Link); }

 private:
  const TwoNames names_;
};

}  // namespace

std::unique_ptr<Action> MakeLink(CLI::App& app) { return MakeAction<LinkAction>(app); }

}  // namespace zenfs
