// Parses a command line and runs its verb: `zenfs VERB [flags]`.
//
// Every failure is one line on standard error, "zenfs VERB: what, where, what to do". The exit
// status is 0 or 1, unless the verb's table entry has others.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/verbs.h"

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

// The message for `words`, not empty, whose beginning names no verb.
[[nodiscard]] std::string DescribeUnknownVerb(const std::vector<std::string>& words);

// The candidate, in lower case, with the smallest distance to `word` in any case, which the user most likely meant; the first of equal ones. "" if more than
// a third of the letters differ and neither word begins with the other.
[[nodiscard]] std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

[[nodiscard]] std::string HelpOf(const Verb& verb);

// A flag or positional of a verb as plain values, for the man page and the shell completions.
struct VerbFlag {
  // The kind of name that a value is, for shell completion. Derived from the value's placeholder:
  // FILE and PATH, DIR and MOUNT, or VOLUME. A VOLUME-PATH is inside the volume, where a shell can't
  // complete it.
  enum class Names { kNothing, kFile, kDirectory, kVolume };

  std::vector<std::string> flags;  // "-h", "--help"; empty for a positional
  std::string positional;          // its name
  std::string value;               // "PATH"; empty if it takes none
  std::string default_value;
  std::string description;
  std::string group;  // "Options", "Positionals", ...
  bool value_optional = false;
  bool required = false;
  bool many = false;  // positionals: may be repeated
  Names names = Names::kNothing;
};

// In the order of the help, within groups.
[[nodiscard]] std::vector<VerbFlag> FlagsOf(const Verb& verb);

}  // namespace zenfs
