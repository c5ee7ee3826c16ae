// What became of a read or write of the kernel's.
#pragma once

#include <cstdint>

namespace zenfs {

struct IoOutcome {
  std::uint64_t bytes = 0;  // moved before the end or the error
  int os_errno = 0;         // 0: no error; `bytes` may still be short, where the file ends

  bool Moved(std::uint64_t wanted) const { return os_errno == 0 && bytes == wanted; }
};

}  // namespace zenfs
