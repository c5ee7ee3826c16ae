// The man page zenfs(8), generated from the table of verbs and their flags.
#pragma once

#include <string>

namespace zenfs {

// In man(7) macros, for groff and mandoc. The same program always returns the same text.
[[nodiscard]] std::string ManPage();

}  // namespace zenfs
