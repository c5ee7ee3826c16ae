#include "base/environment.h"

#include <sys/auxv.h>

#include <cstdlib>

namespace zenfs {

std::string_view EnvironmentVariable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool HasMorePrivilegesThanCaller() { return ::getauxval(AT_SECURE) != 0; }

}  // namespace zenfs
