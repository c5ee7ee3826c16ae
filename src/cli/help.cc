#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/man_page.h"
#include "cli/usage_error.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class HelpAction : public Action {
 public:
  explicit HelpAction(CLI::App& app) {
    app.add_option("verb", verb_, "The verb to explain")->expected(0, 2);
    app.add_flag("--man", man_, "Print the man page zenfs(8) instead, for man(1)");
  }

  Result<int> Run(Console& console) override {
    if (man_) {
      if (!verb_.empty())
        return Fail(Code::kInvalidArgument, "--man covers all verbs; give it without a verb");
      console.Print(ManPage());
      return 0;
    }
    if (verb_.empty()) {
      console.Print(OverallHelp());
      return 0;
    }
    const FoundVerb found = FindVerb(verb_);
    if (found.verb != nullptr && found.words != verb_.size()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{0}' is one word too many; 'zenfs help {1}' shows the flags of {1}",
                              verb_.back(), found.verb->name));
    }
    if (found.verb == nullptr) {
      return Fail(Code::kInvalidArgument, DescribeUnknownVerb(verb_));
    }
    console.Print(HelpOf(*found.verb));
    return 0;
  }

 private:
  std::vector<std::string> verb_;
  bool man_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeHelp(CLI::App& app) { return MakeAction<HelpAction>(app); }

}  // namespace zenfs
