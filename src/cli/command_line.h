// From words to a verb that runs: `zenfs VERB [flags]`.
//
// Every failure is one line on standard error, "zenfs VERB: what, where, what to do". The exit status is 0 or
// 1, but for verbs whose table entry says otherwise.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/verb.h"

namespace zenfs {

// `words` are the arguments without the program's name. Returns the exit status.
[[nodiscard]] int RunCommandLine(const std::vector<std::string>& words, Console& console);

// A verb that is ready to run. The action keeps references to the app.
struct ParsedCommand {
  const Verb* verb = nullptr;
  std::unique_ptr<CLI::App> app;
  std::unique_ptr<Action> action;
};
// Carries nothing out. The exit status if there is nothing left to run: what was wrong, or the help that was asked for, has
// been said.
[[nodiscard]] std::expected<ParsedCommand, int> ParseCommandLine(const std::vector<std::string>& words,
                                                                 Console& console);

// The verb that `words` begin with and how many words name it; {nullptr, 0} if there is none.
struct FoundVerb {
  const Verb* verb = nullptr;
  std::size_t words = 0;
};
[[nodiscard]] FoundVerb FindVerb(const std::vector<std::string>& words);

// An App that has the flags every verb has; the verb's `make` adds its own.
[[nodiscard]] std::unique_ptr<CLI::App> MakeApp(const Verb& verb);

// The help of one verb, and that of the whole command.
[[nodiscard]] std::string HelpOf(const Verb& verb);
[[nodiscard]] std::string OverallHelp();

}  // namespace zenfs
