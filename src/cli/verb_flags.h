// The flags of a verb as plain values, read from its App, for the man page and the shell
// completions.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace zenfs {

struct VerbFlag {
  // The kind of name that a value is, for shell completion. Derived from the value's placeholder:
  // FILE and PATH, or DIR and MOUNT. A VOLUME-PATH is inside the volume, where a shell can't
  // complete it.
  enum class Names { kNothing, kFile, kDirectory };

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
