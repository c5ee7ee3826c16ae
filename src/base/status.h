// Errors as values. Every fallible function returns Status or Result<T>; both are [[nodiscard]], so an
// ignored failure does not compile.
//
// An Error carries a machine-readable code, the operating system's errno if there was one, and one line of
// text for a person that says what failed, where, and where it can be known what to do about it.
//
// Threads: plain values, no shared state.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zenfs {

enum class Code {
  kNotFound,         // a name, zone or device that is not there
  kExists,           // a name that is there already
  kInvalidArgument,  // the caller's input is wrong; retrying is pointless
  kNotSupported,     // understood, and not offered here
  kIo,               // the device or host reported an error
  kCorruption,       // bytes on the medium contradict themselves
  kNoSpace,          // no zone can be made free for this write
  kBusy,             // somebody else holds it (lock, name, slot)
  kTimedOut,         // a deadline passed before the thing could be had
  kReadOnly,         // the volume, device or zone does not accept writes
  kShutdown,         // the object is being stopped
  kPermission,       // the operating system denied access
  kNotADirectory,    // a path component is a file
  kIsADirectory,     // a file was expected
  kNotEmpty,         // a directory that still has entries
  kZoneFull,         // the zone ended before the write; the device decides this at any time
  kUnknownOutcome,   // the command may or may not have taken effect
};

[[nodiscard]] std::string_view CodeName(Code code);

class [[nodiscard]] Error {
 public:
  Error(Code code, std::string text, int os_errno = 0)
      : code_(code), os_errno_(os_errno), text_(std::move(text)) {}

  Code code() const { return code_; }
  int os_errno() const { return os_errno_; }
  const std::string& text() const { return text_; }

  // "text: No such file or directory; advice": the errno's words and the advice where there are any.
  std::string ToString() const;

  // The same error with "context: " put before its text.
  Error With(std::string_view context) const;
  // The same error with another code, for callers to whom the old one would say something else.
  Error As(Code code) const;
  // The same error with what the user can do about it. ToString says it last, behind the cause.
  Error Advise(std::string advice) const;

 private:
  Code code_;
  int os_errno_;
  std::string text_;
  std::string advice_;
};

// Success, or an Error. There is no conversion to bool, so that every test reads as what it asks: status.ok().
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(std::unexpected<Error> failure) : failure_(std::move(failure).error()) {}

  bool ok() const { return !failure_.has_value(); }
  // Only of a status that is not ok().
  const Error& error() const& { return *failure_; }
  Error&& error() && { return *std::move(failure_); }

  // Keeps the first failure of several steps: takes over `next` if nothing has failed yet.
  void Update(Status next) {
    if (ok()) *this = std::move(next);
  }

 private:
  std::optional<Error> failure_;
};

// A value, or an Error.
template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
  bool ok() const { return this->has_value(); }
};

inline std::unexpected<Error> Fail(Code code, std::string text, int os_errno = 0) {
  return std::unexpected<Error>(Error(code, std::move(text), os_errno));
}
inline std::unexpected<Error> Fail(Error error) { return std::unexpected<Error>(std::move(error)); }

// An Error of the code that fits `os_errno` best (ENOSPC -> kNoSpace, EACCES -> kPermission, ...).
[[nodiscard]] Error ErrnoError(int os_errno, std::string text);
inline std::unexpected<Error> FailErrno(int os_errno, std::string text) {
  return std::unexpected<Error>(ErrnoError(os_errno, std::move(text)));
}

// Marks a result whose failure is deliberately without consequence; the comment at the call says why.
inline void IgnoreError(const Status&) {}
template <typename T>
void IgnoreError(const Result<T>&) {}

}  // namespace zenfs

#define ZENFS_CONCAT_INNER(a, b) a##b
#define ZENFS_CONCAT(a, b) ZENFS_CONCAT_INNER(a, b)

// Returns the error of `expr` (a Status or Result) from the enclosing function.
#define ZENFS_RETURN_IF_ERROR(expr)                           \
  do {                                                        \
    if (auto zenfs_status_ = (expr); !zenfs_status_.ok())     \
      return ::zenfs::Fail(std::move(zenfs_status_).error()); \
  } while (false)

// ZENFS_ASSIGN_OR_RETURN(auto x, F()): x = the value of F(), or its error is returned.
#define ZENFS_ASSIGN_OR_RETURN(lhs, expr) \
  ZENFS_ASSIGN_OR_RETURN_IMPL(ZENFS_CONCAT(zenfs_result_, __LINE__), lhs, expr)
#define ZENFS_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)            \
  auto tmp = (expr);                                           \
  if (!tmp.ok()) return ::zenfs::Fail(std::move(tmp).error()); \
  lhs = std::move(*tmp)
