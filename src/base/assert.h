// ZENFS_ASSERT(condition): checks an invariant in debug and sanitizer builds, and with ZENFS_ASSERTIONS=ON. If it is
// violated, the process prints the source location and the condition to standard error and aborts. Other builds, such as
// the release, compile the condition but do not evaluate it.
//
// ZENFS_CHECK(condition, text): checks, in all builds, one of the few invariants whose violation could lose data. If it is
// violated, the enclosing function returns kCorruption with `text` and a request to report it. The caller must stop
// writing.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/status.h"

namespace zenfs {

[[noreturn]] inline void FailAssertion(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

inline std::unexpected<Error> FailCheck(std::string text) {
  return Fail(Error(Code::kCorruption, std::move(text)).Advise("this is a bug in ZenFS, please report it"));
}

}  // namespace zenfs

#define ZENFS_ASSERT_TEXT_OF(line) #line
#define ZENFS_ASSERT_LINE(line) ZENFS_ASSERT_TEXT_OF(line)

#define ZENFS_CHECK(condition, text)   \
  do {                                 \
    if (!(condition)) [[unlikely]]     \
      return ::zenfs::FailCheck(text); \
  } while (false)

// 1 if this build evaluates assertions.
#if defined(NDEBUG) && !defined(ZENFS_ASSERTIONS)
#define ZENFS_ASSERTIONS_RUN 0
#else
#define ZENFS_ASSERTIONS_RUN 1
#endif

#if !ZENFS_ASSERTIONS_RUN
#define ZENFS_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define ZENFS_ASSERT(condition)          \
  ((condition) ? static_cast<void>(0)    \
               : ::zenfs::FailAssertion( \
                     __FILE__ ":" ZENFS_ASSERT_LINE(__LINE__) ": assertion failed: " #condition "\n"))
#endif
