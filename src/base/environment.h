// The environment of the process. A program that runs with more privileges than its caller (setuid, setgid, file
// capabilities; AT_SECURE in getauxval(3)) has none: its caller wrote the variables.
//
// Threads: any, as long as nobody changes the environment; ZenFS never does.
#pragma once

#include <string>
#include <string_view>

namespace zenfs {

// The value of a variable; "" if it is not set, or if the environment is not to be trusted.
[[nodiscard]] std::string_view EnvironmentVariable(const char* name);

// The directory for the user's configuration: $XDG_CONFIG_HOME, or ~/.config; "" if the environment has no home directory.
[[nodiscard]] std::string UserConfigDirectory();

// True if the process has more privileges than its caller.
[[nodiscard]] bool HasMorePrivilegesThanCaller();

}  // namespace zenfs
