// ZENFS_ASSERT(condition): states an invariant where it must hold. A broken one ends the process; its place and the condition
// go to standard error. Debug and sanitizer builds check it, and builds with ZENFS_ASSERTIONS=ON. Others, such as
// the release, compile it and do not run it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace zenfs {

[[noreturn]] inline void FailAssertion(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

}  // namespace zenfs

#define ZENFS_ASSERT_TEXT_OF(line) #line
#define ZENFS_ASSERT_LINE(line) ZENFS_ASSERT_TEXT_OF(line)

#if defined(NDEBUG) && !defined(ZENFS_ASSERTIONS)
#define ZENFS_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define ZENFS_ASSERT(condition)          \
  ((condition) ? static_cast<void>(0)    \
               : ::zenfs::FailAssertion( \
                     __FILE__ ":" ZENFS_ASSERT_LINE(__LINE__) ": assertion failed: " #condition "\n"))
#endif
