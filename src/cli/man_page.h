// The man page zenfs(8), made from the table of verbs and their flags.
#pragma once

#include <string>

namespace zenfs {

// In the man(7) macros, for groff and mandoc. The same program always gives the same text.
[[nodiscard]] std::string ManPage();

}  // namespace zenfs
