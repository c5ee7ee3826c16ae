#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "base/caught.h"
#include "cli/device_option.h"

namespace zenfs {
namespace {

constexpr std::string_view kEndOfFlags = "--";

// An App with the flags that every verb has; the verb's `make` adds its own.
std::unique_ptr<CLI::App> MakeApp(const Verb& verb) {
  auto app = std::make_unique<CLI::App>(std::string(verb.summary), fmt::format("zenfs {}", verb.name));
  app->set_help_flag("-h,--help", "Print this help");
  app->allow_extras();  // our own message names an unknown flag
  return app;
}

std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

constexpr std::size_t kWordMax = 64;  // longer words have no suggestion; bounds the table below

// Levenshtein distance: letters to insert, delete or replace.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestWord(std::string_view typed, std::span<const std::string> candidates) {
  const std::string word = InLowerCase(typed);
  std::string nearest;
  if (word.size() < 2 || word.size() > kWordMax) return nearest;
  std::size_t least = word.size();
  for (const std::string& candidate : candidates) {
    const std::size_t distance = Distance(word, candidate);
    const bool is_near = distance <= std::max<std::size_t>(1, word.size() / 3) ||
                         candidate.starts_with(word) || word.starts_with(candidate);
    if (!is_near || distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

namespace {

// Messages for a wrong use of a verb: what was wrong and what is right. CLI11's own texts name neither the form of a value nor the
// word that was meant. They begin with the name of the option; one of them omits the dashes of a flag.
const CLI::Option* OptionIn(const CLI::App& app, const std::string& text) {
  const std::string name = text.substr(0, text.find_first_of(": "));
  const CLI::Option* const option = app.get_option_no_throw(name);
  return option != nullptr ? option : app.get_option_no_throw("--" + name);
}

bool IsPositional(const CLI::Option& option) {
  return option.get_lnames().empty() && option.get_snames().empty();
}

std::string WithValue(const CLI::Option& option) {
  return fmt::format("{}={}", option.get_name(), option.get_type_name());
}

// The usage of the verb: "zenfs emu clone SRC DST".
std::string Form(const CLI::App& app) {
  std::string form = app.get_name();
  for (const CLI::Option* option : app.get_options({})) {
    if (IsPositional(*option)) form += " " + option->get_type_name();
  }
  return form;
}

// The last word of "A excludes B" and "A requires B".
std::string LastWord(const std::string& text) { return text.substr(text.rfind(' ') + 1); }

std::string DescribeMismatch(const CLI::Option& option, const std::string& text) {
  if (text.ends_with("missing"))
    return fmt::format("{0} needs a value: {1}", option.get_name(), WithValue(option));
  if (text.ends_with("override")) return fmt::format("{} takes no value", option.get_name());
  return fmt::format("{} is given {} times; give it once", option.get_name(), LastWord(text));
}

std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.pop_back();
  const CLI::Option* const option = OptionIn(app, text);
  if (option == nullptr) return text;
  const std::string kind = error.get_name();
  if (kind == "RequiredError") {
    return IsPositional(*option) ? fmt::format("{} is missing: {}", option->get_type_name(), Form(app))
                                 : fmt::format("{} is missing", WithValue(*option));
  }
  if (kind == "ArgumentMismatch") return DescribeMismatch(*option, text);
  if (kind == "ExcludesError") {
    return fmt::format("{} and {} exclude one another; give one of them", option->get_name(), LastWord(text));
  }
  if (kind == "RequiresError") {
    return fmt::format("{} needs {}; give both", option->get_name(), LastWord(text));
  }
  return text;
}

constexpr std::string_view kOldGarbageCollection = "--enable-gc";  // a flag of the older ZenFS's mkfs

bool HasDevice(const CLI::App& app) {
  return std::ranges::any_of(app.get_options({}), [](const CLI::Option* option) {
    return option->get_group().starts_with("Device") && option->count() > 0;
  });
}

// For an unknown flag, or one word too many. `shown`: the word as it was typed.
std::string DescribeExtraWord(const CLI::App& app, const std::string& shown) {
  if (!shown.starts_with("-")) {
    const bool wants_device = app.get_option_no_throw("--volume") != nullptr && !HasDevice(app);
    const std::string flag = wants_device ? DeviceFlagFor(shown) : "";
    return flag.empty() ? fmt::format("'{}' is one word too many", shown)
                        : fmt::format("a device needs a flag: {}", flag);
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  std::string typed = shown;
  std::replace(typed.begin(), typed.end(), '_', '-');
  if (typed == kOldGarbageCollection) {
    return fmt::format("{} is not needed: space is always reclaimed when it gets short; leave it out", shown);
  }
  const std::string near = NearestWord(typed, flags);
  return fmt::format("unknown flag {}{}", shown, near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

// Words of other commands, and what does the same here.
struct HabitWord {
  std::string_view word;
  std::string_view meant;
};
constexpr HabitWord kHabits[] = {
    {"ls", "'zenfs list --path=DIRECTORY'"},
    {"rm", "'zenfs delete --path=FILE' or 'zenfs rmdir --path=DIRECTORY'"},
    {"mv", "'zenfs rename --src-file=PATH --dest-file=PATH'"},
    {"ln", "'zenfs link --src-file=PATH --dest-file=PATH'"},
    {"cp", "'zenfs get PATH LOCAL' or 'zenfs put LOCAL PATH'"},
    {"fsck", "'zenfs check'"},
    {"repair", "'zenfs check --repair'"},
    {"format", "'zenfs mkfs'"},
    {"create", "'zenfs emu create PATH' or 'zenfs mkfs'"},
    {"clone", "'zenfs emu clone SRC DST'"},
    {"info", "'zenfs fs-info' or 'zenfs emu info PATH'"},
};

std::vector<std::string> VerbsThatBeginWith(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) {
    if (verb.name.starts_with(word + " ")) names.emplace_back(verb.name);
  }
  return names;
}

}  // namespace

std::string DescribeUnknownVerb(const std::vector<std::string>& words) {
  const std::string& first = words.front();
  const std::string lower = InLowerCase(first);
  for (const HabitWord& habit : kHabits) {
    if (habit.word != lower) continue;
    return fmt::format("unknown verb '{}', did you mean {}?; see 'zenfs help'", first, habit.meant);
  }
  if (first.starts_with("-")) {
    return fmt::format("the verb comes first, before {}: zenfs VERB [FLAGS]; see 'zenfs help'", first);
  }
  std::vector<std::string> known = VerbsThatBeginWith(lower);
  if (!known.empty()) {
    const std::string form = fmt::format("zenfs {}", fmt::join(known, ", zenfs "));
    if (words.size() == 1 || words[1].starts_with("-")) {
      return fmt::format("'{}' alone is not a verb; verbs: {}; see 'zenfs help'", first, form);
    }
    const std::string typed = first + " " + words[1];
    const std::string near = NearestWord(typed, known);
    return fmt::format("unknown verb '{}', {}; see 'zenfs help'", typed,
                       near.empty() ? "there are " + form : fmt::format("did you mean '{}'?", near));
  }
  for (const Verb& verb : Verbs()) known.emplace_back(verb.name);
  const std::string near = NearestWord(first, known);
  return fmt::format("unknown verb '{}'{}; see 'zenfs help'", first,
                     near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
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

namespace {

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

std::expected<ParsedCommand, int> ParseCommandLine(const std::vector<std::string>& words, Console& console) {
  if (words.empty()) {
    return std::unexpected(Complain(console, "", "no verb given; see 'zenfs help'", 1));
  }
  std::vector<std::string> rest = words;
  if (rest.front() == "--help" || rest.front() == "-h") rest.front() = "help";
  if (rest.front() == "--version" || rest.front() == "-V") rest.front() = "version";
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
    // The reader has seen enough, as `head` does. Usually SIGPIPE ends the process before.
    if (flushed.error().os_errno() == EPIPE) return verb.error_status;
    return Complain(console, verb.name, flushed.error().ToString(), verb.error_status);
  }
  return *status;
}

std::string HelpOf(const Verb& verb) {
  const auto app = MakeApp(verb);
  const auto action = verb.make(*app);  // declares the flags that help shows
  return app->help();
}

namespace {

VerbFlag::Names NamesOf(const VerbFlag& flag) {
  if (flag.value == "PATH" || flag.value == "FILE") return VerbFlag::Names::kFile;
  if (flag.value == "DIR" || flag.value == "MOUNT") return VerbFlag::Names::kDirectory;
  if (flag.value == "VOLUME") return VerbFlag::Names::kVolume;
  return VerbFlag::Names::kNothing;
}

VerbFlag FlagOf(const CLI::Option& option) {
  VerbFlag flag;
  for (const std::string& name : option.get_snames()) flag.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.flags.push_back("--" + name);
  if (flag.flags.empty()) flag.positional = option.get_name(true);
  if (option.get_type_size_max() > 0) flag.value = option.get_type_name();
  flag.default_value = option.get_default_str();
  flag.description = option.get_description();
  flag.group = option.get_group();
  flag.value_optional = option.get_expected_min() == 0;
  flag.required = option.get_required();
  flag.many = option.get_expected_max() > 1;
  flag.names = NamesOf(flag);
  return flag;
}

}  // namespace

std::vector<VerbFlag> FlagsOf(const Verb& verb) {
  const auto app = MakeApp(verb);
  const auto action = verb.make(*app);  // declares the flags
  std::vector<VerbFlag> flags;
  for (const CLI::Option* option : app->get_options({})) {
    if (!option->get_group().empty()) flags.push_back(FlagOf(*option));  // no group: hidden
  }
  return flags;
}

}  // namespace zenfs
