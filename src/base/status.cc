#include "base/status.h"

#include <cerrno>
#include <system_error>

namespace zenfs {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kNotFound: return "not found";
    case Code::kExists: return "already exists";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kNotSupported: return "not supported";
    case Code::kIo: return "input/output error";
    case Code::kCorruption: return "corruption";
    case Code::kNoSpace: return "no space";
    case Code::kBusy: return "busy";
    case Code::kTimedOut: return "timed out";
    case Code::kReadOnly: return "read-only";
    case Code::kShutdown: return "shutting down";
    case Code::kPermission: return "permission denied";
    case Code::kNotADirectory: return "not a directory";
    case Code::kIsADirectory: return "is a directory";
    case Code::kNotEmpty: return "directory not empty";
    case Code::kZoneFull: return "zone full";
    case Code::kUnknownOutcome: return "outcome unknown";
  }
  return "unknown code";
}

std::string Error::ToString() const {
  std::string out = text_;
  if (os_errno_ != 0) out += ": " + std::generic_category().message(os_errno_);
  if (!advice_.empty()) out += "; " + advice_;
  return out;
}

Error Error::With(std::string_view context) const {
  Error error = *this;
  error.text_ = std::string(context) + ": " + text_;
  return error;
}

Error Error::As(Code code) const {
  Error error = *this;
  error.code_ = code;
  return error;
}

Error Error::Advise(std::string advice) const {
  Error error = *this;
  error.advice_ = std::move(advice);
  return error;
}

namespace {

Code CodeOfErrno(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENXIO:
    case ENODEV: return Code::kNotFound;
    case EEXIST: return Code::kExists;
    case EINVAL: return Code::kInvalidArgument;
    case ENOSYS:
    case EOPNOTSUPP: return Code::kNotSupported;
    case ENOSPC:
    case EDQUOT: return Code::kNoSpace;
    case EBUSY:
    case EAGAIN: return Code::kBusy;
    case ETIMEDOUT: return Code::kTimedOut;
    case EROFS: return Code::kReadOnly;
    case EACCES:
    case EPERM: return Code::kPermission;
    case ENOTDIR: return Code::kNotADirectory;
    case EISDIR: return Code::kIsADirectory;
    case ENOTEMPTY: return Code::kNotEmpty;
    default: return Code::kIo;
  }
}

}  // namespace

Error ErrnoError(int os_errno, std::string text) {
  return Error(CodeOfErrno(os_errno), std::move(text), os_errno);
}

}  // namespace zenfs
