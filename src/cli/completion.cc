#include <fmt/format.h>

#include "cli/completion_scripts.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class CompletionAction : public Action {
 public:
  explicit CompletionAction(CLI::App& app) {
    app.add_option("shell", shell_, "bash, zsh or fish")->type_name("SHELL")->required();
  }

  Result<int> Run(Console& console) override {
    if (shell_ == "bash") {
      console.Print(BashCompletion());
    } else if (shell_ == "zsh") {
      console.Print(ZshCompletion());
    } else if (shell_ == "fish") {
      console.Print(FishCompletion());
    } else {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{}' is not a supported shell: bash, zsh or fish", shell_));
    }
    return 0;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Action> MakeCompletion(CLI::App& app) { return MakeAction<CompletionAction>(app); }

}  // namespace zenfs
