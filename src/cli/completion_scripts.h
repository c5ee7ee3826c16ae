// Shell completions, generated from the table of verbs and their flags. Each is a script of that
// shell.
#pragma once

#include <string>

namespace zenfs {

[[nodiscard]] std::string BashCompletion();
[[nodiscard]] std::string ZshCompletion();
[[nodiscard]] std::string FishCompletion();

}  // namespace zenfs
