#include "base/environment.h"

#include <sys/auxv.h>

#include <cstdlib>

namespace zenfs {

std::string_view EnvironmentVariable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string UserConfigDirectory() {
  const std::string config(EnvironmentVariable("XDG_CONFIG_HOME"));
  const std::string home(EnvironmentVariable("HOME"));
  return config.empty() && !home.empty() ? home + "/.config" : config;
}

bool HasMorePrivilegesThanCaller() { return ::getauxval(AT_SECURE) != 0; }

}  // namespace zenfs
