// One `complete` command per word, with the condition under which the word may come next.
#include <fmt/format.h>

#include <set>

#include "cli/completion_scripts.h"
#include "cli/verb_flags.h"

namespace zenfs {
namespace {

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
    case VerbFlag::Names::kNothing: line += " -f"; break;
  }
  if (flag.flags.empty() && verb.name == "completion") line += " -a 'bash zsh fish'";
  return fmt::format("{} -d {}\n", line, Quoted(flag.description));
}

}  // namespace

std::string FishCompletion() {
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
      "complete -c zenfs -f\n";
  out += VerbWords();
  for (const Verb& verb : Verbs()) {
    for (const VerbFlag& flag : FlagsOf(verb)) out += FlagLine(verb, flag);
  }
  return out;
}

}  // namespace zenfs
