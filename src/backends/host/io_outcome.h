// What became of a read or write of the kernel's.
#pragma once

#include <cstdint>

namespace zenfs {

// Longest read or write that is sent as one, bytes; the kernel moves at most 2 GiB less a page in one call.
constexpr std::uint64_t kLongestCall = std::uint64_t{1} << 30;

struct IoOutcome {
  std::uint64_t bytes = 0;  // moved before the end or the error
  int os_errno = 0;         // 0: no error; `bytes` may still be short, where the file ends

  bool Moved(std::uint64_t wanted) const { return os_errno == 0 && bytes == wanted; }
};

}  // namespace zenfs
