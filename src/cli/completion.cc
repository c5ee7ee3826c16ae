// `zenfs completion`: a script for bash, zsh or fish, generated from the table of verbs and their flags.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/command_line.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// The script for bash needs version 4.4 only. Bash splits `--emu=PATH` at the '=', so the flag of a value is one or two words
// before it.
namespace bash {

// Flags that need a value end in '=': "--emu=".
std::string WordsOf(const std::vector<VerbFlag>& flags) {
  std::string words;
  for (const VerbFlag& flag : flags) {
    for (const std::string& name : flag.flags) {
      const bool wants_value = !flag.value.empty() && !flag.value_optional && name.starts_with("--");
      words += fmt::format("{}{}{}", words.empty() ? "" : " ", name, wants_value ? "=" : "");
    }
  }
  return words;
}

// Patterns of the form 'VERB FLAG'.
std::string FlagsThatName(VerbFlag::Names names) {
  std::set<std::string> all;
  for (const Verb& verb : Verbs()) {
    for (const VerbFlag& flag : FlagsOf(verb)) {
      if (flag.names != names) continue;
      for (const std::string& name : flag.flags) all.insert(fmt::format("'{} {}'", verb.name, name));
    }
  }
  return fmt::format("{}", fmt::join(all, "|"));
}

std::string CasesOfVerbs() {
  std::string cases;
  for (const Verb& verb : Verbs()) {
    const std::vector<VerbFlag> flags = FlagsOf(verb);
    const auto has_word = [&](VerbFlag::Names names) {
      return std::ranges::any_of(
          flags, [&](const VerbFlag& flag) { return flag.flags.empty() && flag.names == names; });
    };
    cases +=
        fmt::format("    '{}') flags='{}' files={} volumes={} ;;\n", verb.name, WordsOf(flags),
                    has_word(VerbFlag::Names::kFile) ? 1 : 0, has_word(VerbFlag::Names::kVolume) ? 1 : 0);
  }
  return cases;
}

// The words that may follow `first`, or the command itself.
std::string WordsAfter(std::string_view first) {
  std::set<std::string_view> words;
  for (const Verb& verb : Verbs()) {
    const std::size_t space = verb.name.find(' ');
    if (first.empty()) {
      words.insert(verb.name.substr(0, space));
    } else if (space != std::string_view::npos && verb.name.substr(0, space) == first) {
      words.insert(verb.name.substr(space + 1));
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string CasesOfFirstWords() {
  std::set<std::string_view> firsts;
  for (const Verb& verb : Verbs()) {
    if (const std::size_t space = verb.name.find(' '); space != std::string_view::npos) {
      firsts.insert(verb.name.substr(0, space));
    }
  }
  std::string cases;
  for (const std::string_view first : firsts) {
    cases += fmt::format("    {}) seconds='{}' ;;\n", first, WordsAfter(first));
  }
  return cases;
}

constexpr std::string_view kScript = R"bash(# bash completion for zenfs, made by 'zenfs completion bash'
_zenfs_volumes() {{
  "${{COMP_WORDS[0]}}" volumes 2>/dev/null | cut -f1
}}
_zenfs() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} flag='' verb=${{COMP_WORDS[1]}} seconds='' flags='' files=0 volumes=0
  COMPREPLY=()
  if [[ $cur == = ]]; then
    flag=${{COMP_WORDS[COMP_CWORD-1]}} cur=''
  elif [[ ${{COMP_WORDS[COMP_CWORD-1]}} == = ]]; then
    flag=${{COMP_WORDS[COMP_CWORD-2]}}
  else
    flag=${{COMP_WORDS[COMP_CWORD-1]}}
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{verbs}' -- "$cur")
    return
  fi
  case $verb in
{seconds}  esac
  if [[ -n $seconds ]]; then
    if [[ $COMP_CWORD -eq 2 ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$seconds" -- "$cur")
      return
    fi
    verb="$verb ${{COMP_WORDS[2]}}"
  fi
  case "$verb ${{flag//_/-}}" in
    {files})
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return ;;
    {directories})
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      return ;;
    {volumes})
      mapfile -t COMPREPLY < <(compgen -W "$(_zenfs_volumes)" -- "$cur")
      return ;;
  esac
  if [[ $verb == help && $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{verbs}' -- "$cur")
    return
  fi
  if [[ $verb == completion && $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- "$cur")
    return
  fi
  case $verb in
{cases}  esac
  [[ $volumes -eq 1 ]] && flags="$flags $(_zenfs_volumes)"
  if [[ $cur == -* || $files -eq 0 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
    [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
  return 0
}}
complete -F _zenfs zenfs
)bash";

std::string Completion() {
  return fmt::format(kScript, fmt::arg("files", FlagsThatName(VerbFlag::Names::kFile)),
                     fmt::arg("directories", FlagsThatName(VerbFlag::Names::kDirectory)),
                     fmt::arg("volumes", FlagsThatName(VerbFlag::Names::kVolume)),
                     fmt::arg("verbs", WordsAfter("")), fmt::arg("seconds", CasesOfFirstWords()),
                     fmt::arg("cases", CasesOfVerbs()));
}

}  // namespace bash

// The script for zsh uses _arguments of its completion system, one call per verb.
namespace zsh {

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
    case VerbFlag::Names::kVolume: return "_zenfs_volumes";
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

std::string Completion() {
  return fmt::format(R"zsh(#compdef zenfs
# zsh completion for zenfs, made by 'zenfs completion zsh'
_zenfs_volumes() {{
  local -a names
  names=(${{(f)"$(_call_program volumes zenfs volumes 2>/dev/null | cut -f1)"}})
  compadd -a names
}}
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
)zsh",
                     FirstWords(), SecondWords(), VerbCases());
}

}  // namespace zsh

// The script for fish has one `complete` command per word, with the condition under which the word may come next.
namespace fish {

std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string VerbWords() {
  std::string out;
  std::set<std::string_view> told;
  for (const Verb& verb : Verbs()) {
    const std::size_t space = verb.name.find(' ');
    const std::string_view first = verb.name.substr(0, space);
    if (space == std::string_view::npos) {
      out += fmt::format("complete -c zenfs -n __fish_use_subcommand -f -a {} -d {}\n", first,
                         Quoted(verb.summary));
      continue;
    }
    if (told.insert(first).second) {
      out += fmt::format("complete -c zenfs -n __fish_use_subcommand -f -a {}\n", first);
    }
    out += fmt::format("complete -c zenfs -n '__zenfs_words {}' -f -a {} -d {}\n", first,
                       verb.name.substr(space + 1), Quoted(verb.summary));
  }
  return out;
}

std::string FlagLine(const Verb& verb, const VerbFlag& flag) {
  std::string line = fmt::format("complete -c zenfs -n '__zenfs_verb {}'", verb.name);
  for (const std::string& name : flag.flags) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!flag.value.empty() && !flag.value_optional) line += " -r";
  switch (flag.names) {
    case VerbFlag::Names::kFile: line += " -F"; break;
    case VerbFlag::Names::kDirectory: line += " -f -a '(__fish_complete_directories)'"; break;
    case VerbFlag::Names::kVolume: line += " -f -a '(__zenfs_volumes)'"; break;
    case VerbFlag::Names::kNothing: line += " -f"; break;
  }
  if (flag.flags.empty() && verb.name == "completion") line += " -a 'bash zsh fish'";
  return fmt::format("{} -d {}\n", line, Quoted(flag.description));
}

std::string Completion() {
  std::string out =
      "# fish completion for zenfs, made by 'zenfs completion fish'\n"
      "function __zenfs_words # the words so far are exactly these\n"
      "  set -l words (commandline -opc)\n"
      "  test \"$words[2..-1]\" = \"$argv\"\n"
      "end\n"
      "function __zenfs_verb # the words so far begin with these\n"
      "  set -l words (commandline -opc)\n"
      "  set -l last (math (count $argv) + 1)\n"
      "  test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
      "end\n"
      "function __zenfs_volumes # the names of volumes\n"
      "  set -l words (commandline -opc)\n"
      "  command -q $words[1]; and $words[1] volumes 2>/dev/null | string replace -r '\\t.*' ''\n"
      "end\n"
      "complete -c zenfs -f\n";
  out += VerbWords();
  for (const Verb& verb : Verbs()) {
    for (const VerbFlag& flag : FlagsOf(verb)) out += FlagLine(verb, flag);
  }
  return out;
}

}  // namespace fish

class CompletionAction : public Action {
 public:
  explicit CompletionAction(CLI::App& app) {
    app.add_option("shell", shell_, "bash, zsh or fish")->type_name("SHELL")->required();
  }

  Result<int> Run(Console& console) override {
    if (shell_ == "bash") {
      console.Print(bash::Completion());
    } else if (shell_ == "zsh") {
      console.Print(zsh::Completion());
    } else if (shell_ == "fish") {
      console.Print(fish::Completion());
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
