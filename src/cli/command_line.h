// Parses a command line and runs its verb: `zenfs VERB [flags]`.
//
// Every failure is one line on standard error, "zenfs VERB: what, where, what to do". The exit
// status is 0 or 1, unless the verb's table entry has others.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/verb.h"

namespace zenfs {

// `words`: the arguments without the program's name. Returns the exit status.
[[nodiscard]] int RunCommandLine(const std::vector<std::string>& words, Console& console);

// A verb that is ready to run. The action keeps references to the app.
struct ParsedCommand {
  const Verb* verb = nullptr;
  std::unique_ptr<CLI::App> app;
  std::unique_ptr<Action> action;
};
// Runs nothing. Returns the exit status if nothing is left to run: an error or the requested help
// has been printed.
[[nodiscard]] std::expected<ParsedCommand, int> ParseCommandLine(const std::vector<std::string>& words,
                                                                 Console& console);

// The verb at the start of `words`, and the number of words of its name; {nullptr, 0} if there is
// none.
struct FoundVerb {
  const Verb* verb = nullptr;
  std::size_t words = 0;
};
[[nodiscard]] FoundVerb FindVerb(const std::vector<std::string>& words);

// An App with the flags that every verb has; the verb's `make` adds its own.
[[nodiscard]] std::unique_ptr<CLI::App> MakeApp(const Verb& verb);

// The help of one verb, and the help of the command.
[[nodiscard]] std::string HelpOf(const Verb& verb);
[[nodiscard]] std::string OverallHelp();

}  // namespace zenfs
