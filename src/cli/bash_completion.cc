// The script needs bash 4.4 only. Bash splits `--emu=PATH` at the '=', so the flag of a value is
// one or two words before it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "cli/completion_scripts.h"
#include "cli/verb_flags.h"

namespace zenfs {
namespace {

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
    bool files = false;
    for (const VerbFlag& flag : flags) files |= flag.flags.empty() && flag.names == VerbFlag::Names::kFile;
    cases += fmt::format("    '{}') flags='{}' files={} ;;\n", verb.name, WordsOf(flags), files ? 1 : 0);
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

constexpr std::string_view kScript = R"(# bash completion for zenfs, made by 'zenfs completion bash'
_zenfs() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} flag='' verb=${{COMP_WORDS[1]}} seconds='' flags='' files=0
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
)";

}  // namespace

std::string BashCompletion() {
  return fmt::format(kScript, fmt::arg("files", FlagsThatName(VerbFlag::Names::kFile)),
                     fmt::arg("directories", FlagsThatName(VerbFlag::Names::kDirectory)),
                     fmt::arg("verbs", WordsAfter("")), fmt::arg("seconds", CasesOfFirstWords()),
                     fmt::arg("cases", CasesOfVerbs()));
}

}  // namespace zenfs
