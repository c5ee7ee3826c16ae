#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/caught.h"
#include "cli/usage_error.h"

namespace zenfs {
namespace {

constexpr std::string_view kEndOfFlags = "--";

// `-` and `_` are equal in the name of a flag: --aux_path is --aux-path.
std::string Normalized(const std::string& word) {
  if (!word.starts_with("--")) return word;
  std::string out = word;
  const std::size_t end = std::min(out.find('='), out.size());
  std::replace(out.begin() + 2, out.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return out;
}

int Complain(Console& console, std::string_view verb, std::string_view what, int status) {
  console.PrintError(fmt::format("zenfs{}{}: {}", verb.empty() ? "" : " ", verb, Printable(what)));
  return status;
}

int ComplainOfUse(Console& console, const Verb& verb, const std::string& what) {
  return Complain(console, verb.name, fmt::format("{}; see 'zenfs {} --help'", what, verb.name),
                  verb.error_status);
}

// Returns `extra` as it was typed, without its value.
std::string AsTyped(const std::string& extra, const std::vector<std::string>& typed) {
  const auto same = [&](const std::string& word) {
    return Normalized(word) == extra || Normalized(word).starts_with(extra + "=");
  };
  const auto found = std::find_if(typed.begin(), typed.end(), same);
  return found == typed.end() ? extra : found->substr(0, found->find('='));
}

std::expected<ParsedCommand, int> ParseVerb(const Verb& verb, const std::vector<std::string>& typed,
                                            Console& console) {
  ParsedCommand command{.verb = &verb, .app = MakeApp(verb), .action = nullptr};
  command.action = verb.make(*command.app);
  for (CLI::Option* option : command.app->get_options({})) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();  // refuse --json=no
  }
  // Behind "--" are the words of another program.
  const auto others = std::find(typed.begin(), typed.end(), kEndOfFlags);
  std::vector<std::string> words(typed.size());
  std::transform(typed.begin(), others, words.rbegin(), Normalized);  // CLI11 wants reverse order
  std::copy(others, typed.end(), words.rbegin() + (others - typed.begin()));
  try {
    command.app->parse(words);
  } catch (const CLI::CallForHelp&) {
    console.Print(command.app->help());
    return std::unexpected(0);
  } catch (const CLI::ParseError& error) {
    // A missing argument is often a mistyped one: report that first.
    const auto extras = command.app->remaining();
    return std::unexpected(
        ComplainOfUse(console, verb,
                      extras.empty() ? DescribeParseError(*command.app, error)
                                     : DescribeExtraWord(*command.app, AsTyped(extras.front(), typed))));
  }
  auto extras = command.app->remaining();
  std::erase(extras, kEndOfFlags);  // CLI11 leaves it over
  if (!extras.empty()) {
    return std::unexpected(
        ComplainOfUse(console, verb, DescribeExtraWord(*command.app, AsTyped(extras.front(), typed))));
  }
  return command;
}

}  // namespace

std::unique_ptr<CLI::App> MakeApp(const Verb& verb) {
  auto app = std::make_unique<CLI::App>(std::string(verb.summary), fmt::format("zenfs {}", verb.name));
  app->set_help_flag("-h,--help", "Print this help");
  app->allow_extras();  // our own message names an unknown flag
  return app;
}

FoundVerb FindVerb(const std::vector<std::string>& words) {
  for (const std::size_t count : {2u, 1u}) {
    if (words.size() < count) continue;
    const std::string name = count == 2 ? words[0] + " " + words[1] : words[0];
    for (const Verb& verb : Verbs()) {
      if (verb.name == name) return {&verb, count};
    }
  }
  return {};
}

std::string HelpOf(const Verb& verb) {
  const auto app = MakeApp(verb);
  const auto action = verb.make(*app);  // declares the flags that help shows
  return app->help();
}

std::string OverallHelp() {
  std::size_t width = 0;
  for (const Verb& verb : Verbs()) width = std::max(width, verb.name.size());
  std::string out =
      "ZenFS: the files of a RocksDB database in the zones of a zoned block device.\n\n"
      "Usage: zenfs VERB [FLAGS]\n\n"
      "Verbs:\n";
  for (const Verb& verb : Verbs()) out += fmt::format("  {:<{}}  {}\n", verb.name, width, verb.summary);
  out +=
      "\nA device is named by exactly one of --zbd=NAME, --nvme=NAME, --zonefs=MOUNT, --emu=PATH and "
      "--uri=URI.\n"
      "In the names of flags '-' and '_' are the same. 'zenfs VERB --help' shows the flags of a verb.\n";
  return out;
}

std::expected<ParsedCommand, int> ParseCommandLine(const std::vector<std::string>& words, Console& console) {
  if (words.empty()) {
    return std::unexpected(Complain(console, "", "no verb given; see 'zenfs help'", 1));
  }
  std::vector<std::string> rest = words;
  if (rest.front() == "--help" || rest.front() == "-h") rest.front() = "help";
  if (rest.front() == "--version") rest.front() = "version";
  const FoundVerb found = FindVerb(rest);
  if (found.verb == nullptr) return std::unexpected(Complain(console, "", DescribeUnknownVerb(rest), 1));
  rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(found.words));
  return ParseVerb(*found.verb, rest, console);
}

int RunCommandLine(const std::vector<std::string>& words, Console& console) {
  const auto command = ParseCommandLine(words, console);
  if (!command) return command.error();
  const Verb& verb = *command->verb;
  // Turns an exception into an error, so that the exit status is that of the verb.
  const Result<int> status = Caught([&] { return command->action->Run(console); });
  if (!status) return Complain(console, verb.name, status.error().ToString(), verb.error_status);
  if (const Status flushed = console.Flush(); !flushed.ok()) {
    return Complain(console, verb.name, flushed.error().ToString(), verb.error_status);
  }
  return *status;
}

}  // namespace zenfs
