// The outcome of a read or write by the kernel.
#pragma once

#include <cstdint>

namespace zenfs {

// Longest read or write sent as one call, in bytes. The kernel transfers at most 2 GiB less a page
// in one call.
constexpr std::uint64_t kLongestCall = std::uint64_t{1} << 30;

struct IoOutcome {
  std::uint64_t bytes = 0;  // transferred before the end or the error
  int os_errno = 0;         // 0: no error; `bytes` can be short at the end of the file

  bool Moved(std::uint64_t wanted) const { return os_errno == 0 && bytes == wanted; }
};

}  // namespace zenfs
