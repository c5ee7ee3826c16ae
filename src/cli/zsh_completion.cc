// Uses _arguments of zsh's completion system, one call per verb.
#include <fmt/format.h>

#include <map>

#include "cli/completion_scripts.h"
#include "cli/verb_flags.h"

namespace zenfs {
namespace {

// Escapes text for single quotes, and for places where brackets and colons separate.
std::string Quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += fmt::format("\\{}", c);
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view ActionOf(VerbFlag::Names names) {
  switch (names) {
    case VerbFlag::Names::kFile: return "_files";
    case VerbFlag::Names::kDirectory: return "_files -/";
    case VerbFlag::Names::kNothing: return " ";
  }
  return " ";
}

std::string SpecOf(const Verb& verb, const VerbFlag& flag) {
  std::string specs;
  for (const std::string& name : flag.flags) {
    std::string spec = name;
    if (!flag.value.empty()) spec += name.starts_with("--") ? (flag.value_optional ? "=-" : "=") : "";
    spec += fmt::format("[{}]", Quoted(flag.description));
    if (!flag.value.empty()) {
      spec +=
          fmt::format("{}{}:{}", flag.value_optional ? "::" : ":", Quoted(flag.value), ActionOf(flag.names));
    }
    specs += fmt::format(" \\\n        '{}'", spec);
  }
  if (!specs.empty()) return specs;
  const std::string_view action = verb.name == "completion" ? "(bash zsh fish)" : ActionOf(flag.names);
  return fmt::format(" \\\n        '{}{}:{}'", flag.many ? "*:" : ":", Quoted(flag.positional), action);
}

// The first words: each with the summary of its verb, or with the second words it needs.
std::string FirstWords() {
  std::map<std::string, std::string> words;
  for (const Verb& verb : Verbs()) {
    const std::size_t space = verb.name.find(' ');
    std::string& text = words[std::string(verb.name.substr(0, space))];
    if (space == std::string_view::npos) {
      text = verb.summary;
    } else {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", verb.name.substr(space + 1));
    }
  }
  std::string out;
  for (const auto& [word, text] : words) out += fmt::format("    '{}:{}'\n", word, Quoted(text));
  return out;
}

std::string SecondWords() {
  std::map<std::string, std::string> cases;
  for (const Verb& verb : Verbs()) {
    const std::size_t space = verb.name.find(' ');
    if (space == std::string_view::npos) continue;
    cases[std::string(verb.name.substr(0, space))] +=
        fmt::format(" '{}:{}'", verb.name.substr(space + 1), Quoted(verb.summary));
  }
  std::string out;
  for (const auto& [word, seconds] : cases) out += fmt::format("    {}) seconds=({} ) ;;\n", word, seconds);
  return out;
}

std::string VerbCases() {
  std::string out;
  for (const Verb& verb : Verbs()) {
    out += fmt::format("    '{}')\n      _arguments", verb.name);
    for (const VerbFlag& flag : FlagsOf(verb)) out += SpecOf(verb, flag);
    out += " ;;\n";
  }
  return out;
}

}  // namespace

std::string ZshCompletion() {
  return fmt::format(R"(#compdef zenfs
# zsh completion for zenfs, made by 'zenfs completion zsh'
_zenfs() {{
  local -a verbs seconds
  local verb
  verbs=(
{})
  if (( CURRENT == 2 )); then
    _describe -t verbs verb verbs
    return
  fi
  verb=$words[2]
  case $verb in
{}  esac
  if (( $#seconds )); then
    if (( CURRENT == 3 )); then
      _describe -t verbs verb seconds
      return
    fi
    verb="$verb $words[3]"
    shift words
    (( CURRENT-- ))
  fi
  shift words
  (( CURRENT-- ))
  case $verb in
{}  esac
}}
if [[ $funcstack[1] == _zenfs ]]; then
  _zenfs "$@"
elif (( $+functions[compdef] )); then
  compdef _zenfs zenfs
fi
)",
                     FirstWords(), SecondWords(), VerbCases());
}

}  // namespace zenfs
