#include "testing/call_stack.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <array>

namespace zenfs {
namespace {

// The address at which the program is loaded.
const void* ProgramBase() {
  Dl_info self{};
  return dladdr(reinterpret_cast<const void*>(&CallStack), &self) == 0 ? nullptr : self.dli_fbase;
}

}  // namespace

std::uintptr_t OffsetInProgram(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fbase != ProgramBase()) return 0;
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
}

std::vector<std::uintptr_t> CallStack() {
  std::array<void*, 64> addresses;
  const int count = backtrace(addresses.data(), addresses.size());
  std::vector<std::uintptr_t> offsets;
  for (int i = 0; i < count; ++i) {
    if (const std::uintptr_t offset = OffsetInProgram(addresses.at(i))) offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace zenfs
