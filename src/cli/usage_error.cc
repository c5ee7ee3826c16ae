#include "cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/nearest_word.h"
#include "cli/verb.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

constexpr std::string_view kOldGarbageCollection = "--enable-gc";  // a flag of the older ZenFS's mkfs

// CLI11's texts begin with the name of the option; one of them omits the dashes of a flag.
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

std::vector<std::string> VerbsThatBeginWith(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) {
    if (verb.name.starts_with(word + " ")) names.emplace_back(verb.name);
  }
  return names;
}

}  // namespace

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

std::string DescribeExtraWord(const CLI::App& app, const std::string& shown) {
  if (!shown.starts_with("-")) return fmt::format("'{}' is one word too many", shown);
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

std::string DescribeUnknownVerb(const std::vector<std::string>& words) {
  const std::string& first = words.front();
  if (first.starts_with("-")) {
    return fmt::format("the verb comes first, before {}: zenfs VERB [FLAGS]; see 'zenfs help'", first);
  }
  std::vector<std::string> known = VerbsThatBeginWith(first);
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

}  // namespace zenfs
