// Lines of the plugin on standard error: what a program that uses RocksDB would not print.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

#include "base/printable.h"

namespace zenfs {

// "ZenFS: <text>", made printable, in one write, so that lines of several threads do not mix. Threads: any.
inline void PrintLine(std::string_view text) {
  const std::string line = "ZenFS: " + Printable(text) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace zenfs
