// The flags of a verb as plain values, read from its App, for the man page and the completions of shells.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace zenfs {

struct VerbFlag {
  // What a value of it names, as far as a shell can complete it: by the value's name, FILE and PATH or DIR and MOUNT.
  // What is inside the volume is a VOLUME-PATH, and not for a shell to see.
  enum class Names { kNothing, kFile, kDirectory };

  std::vector<std::string> flags;  // "-h", "--help"; empty for a positional
  std::string positional;          // its name
  std::string value;               // "PATH"; empty if it takes none
  std::string default_value;
  std::string description;
  std::string group;  // "Options", "Positionals", ...
  bool value_optional = false;
  bool required = false;
  bool many = false;  // of a positional: there may be more than one
  Names names = Names::kNothing;
};

// In the order in which help shows them, within groups.
[[nodiscard]] std::vector<VerbFlag> FlagsOf(const Verb& verb);

}  // namespace zenfs
