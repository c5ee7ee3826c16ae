// ZENFS_ASSERT(condition): states an invariant where it must hold. A broken one ends the process; its place and the condition
// go to standard error. Debug and sanitizer builds check it, and builds with ZENFS_ASSERTIONS=ON. Others, such as
// the release, compile it and do not run it.
//
// ZENFS_CHECK(condition, text): the same for the few invariants that, if broken, would lead to lost data. All builds check
// it. A broken one returns kCorruption from the enclosing function, with `text` and the request to report it. The caller
// sees to it that nothing more is written.
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
  return Fail(
      Error(Code::kCorruption, std::move(text)).Advise("this is a fault of ZenFS itself, please report it"));
}

}  // namespace zenfs

#define ZENFS_ASSERT_TEXT_OF(line) #line
#define ZENFS_ASSERT_LINE(line) ZENFS_ASSERT_TEXT_OF(line)

#define ZENFS_CHECK(condition, text)   \
  do {                                 \
    if (!(condition)) [[unlikely]]     \
      return ::zenfs::FailCheck(text); \
  } while (false)

// Whether this build runs assertions.
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
