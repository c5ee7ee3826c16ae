#include "cli/verb_flags.h"

#include "cli/command_line.h"

namespace zenfs {
namespace {

VerbFlag::Names NamesOf(const VerbFlag& flag) {
  if (flag.value == "PATH" || flag.value == "FILE") return VerbFlag::Names::kFile;
  if (flag.value == "DIR" || flag.value == "MOUNT") return VerbFlag::Names::kDirectory;
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
