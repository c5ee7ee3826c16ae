// Errors as values. Every function that can fail returns Status or Result<T>. Both are [[nodiscard]], so an ignored error
// does not compile.
//
// An Error has a code, the errno of the operating system if there was one, and one line of text: what failed, where, and
// if possible what to do.
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
  kNotFound,         // a name, zone or device does not exist
  kExists,           // a name already exists
  kInvalidArgument,  // the caller's input is wrong; retrying is pointless
  kNotSupported,     // valid, but not supported
  kIo,               // the device or host reported an error
  kCorruption,       // bytes on the medium contradict themselves
  kNoSpace,          // no space or memory is left
  kBusy,             // in use by another holder (lock, name, slot)
  kTimedOut,         // the deadline passed
  kReadOnly,         // the volume, device or zone does not accept writes
  kShutdown,         // the object is being stopped
  kPermission,       // the operating system denied access
  kNotADirectory,    // a directory was expected
  kIsADirectory,     // a file was expected
  kNotEmpty,         // the directory has entries
  kZoneFull,         // the zone is full; a device may make it full at any time
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

  // "text: No such file or directory; advice". Leaves out a missing errno or advice.
  std::string ToString() const;

  // The same error with "context: " before its text.
  Error With(std::string_view context) const;
  // The same error with the code that fits the caller's layer.
  Error As(Code code) const;
  // The same error with advice for the user, which ToString appends after the cause.
  Error Advise(std::string advice) const;

 private:
  Code code_;
  int os_errno_;
  std::string text_;
  std::string advice_;
};

// Success or an Error. Not convertible to bool; use status.ok().
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(std::unexpected<Error> failure) : failure_(std::move(failure).error()) {}

  bool ok() const { return !failure_.has_value(); }
  // Requires !ok().
  const Error& error() const& { return *failure_; }
  Error&& error() && { return *std::move(failure_); }

  // Keeps the first error of several steps: becomes `next` if this is OK.
  void Update(Status next) {
    if (ok()) *this = std::move(next);
  }

 private:
  std::optional<Error> failure_;
};

// A value or an Error.
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

// An Error with the code for `os_errno` (ENOSPC -> kNoSpace, EACCES -> kPermission, ...).
[[nodiscard]] Error ErrnoError(int os_errno, std::string text);
inline std::unexpected<Error> FailErrno(int os_errno, std::string text) {
  return std::unexpected<Error>(ErrnoError(os_errno, std::move(text)));
}

// Ignores an error on purpose. A comment at the call says why.
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

// ZENFS_ASSIGN_OR_RETURN(auto x, F()): assigns the value of F() to x, or returns its error from the enclosing function.
#define ZENFS_ASSIGN_OR_RETURN(lhs, expr) \
  ZENFS_ASSIGN_OR_RETURN_IMPL(ZENFS_CONCAT(zenfs_result_, __LINE__), lhs, expr)
#define ZENFS_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)            \
  auto tmp = (expr);                                           \
  if (!tmp.ok()) return ::zenfs::Fail(std::move(tmp).error()); \
  lhs = std::move(*tmp)
