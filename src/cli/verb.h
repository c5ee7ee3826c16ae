// A verb of the command. The table in verb_table.cc lists all of them; help, dispatch and
// completions use it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "cli/console.h"

namespace zenfs {

// One run of a verb. The constructor binds flags of an App to members; Run is called after they are
// parsed.
class Action {
 public:
  virtual ~Action() = default;
  // Returns the exit status. An error becomes one line on standard error and the verb's error
  // status.
  [[nodiscard]] virtual Result<int> Run(Console& console) = 0;
};

struct Verb {
  std::string_view name;     // one or two words
  std::string_view summary;  // one line, for help
  std::unique_ptr<Action> (*make)(CLI::App& app);
  int error_status = 1;
};

// All verbs, in the order of the help.
[[nodiscard]] std::span<const Verb> Verbs();

template <typename A>
std::unique_ptr<Action> MakeAction(CLI::App& app) {
  return std::make_unique<A>(app);
}

}  // namespace zenfs
