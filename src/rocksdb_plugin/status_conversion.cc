#include "rocksdb_plugin/status_conversion.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/printable.h"

namespace zenfs {

namespace {

IOStatus Retryable(IOStatus status) {
  status.SetRetryable(true);
  return status;
}

IOStatus LostData(IOStatus status) {
  status.SetDataLoss(true);
  status.SetScope(IOStatus::kIOErrorScopeFile);
  return status;
}

// The host of an emulated device is full.
bool IsFullHost(const Error& error) {
  return error.code() == Code::kIo && (error.os_errno() == ENOSPC || error.os_errno() == EDQUOT);
}

std::string TextOf(const Error& error) { return Printable(error.ToString()); }

}  // namespace

std::string WhileDoing(std::string_view doing, std::string_view path) {
  return fmt::format("While {} {}", doing, Printable(path));
}

IOStatus ToIOStatus(const Error& error, std::string_view doing, std::string_view path) {
  const std::string where = WhileDoing(doing, path);
  const std::string text = TextOf(error);
  switch (error.code()) {
    case Code::kNotFound: return IOStatus::PathNotFound(where, text);
    case Code::kInvalidArgument: return IOStatus::InvalidArgument(where, text);
    case Code::kNotSupported: return IOStatus::NotSupported(where, text);
    case Code::kCorruption: return LostData(IOStatus::Corruption(where, text));
    case Code::kNoSpace: return Retryable(IOStatus::NoSpace(where, text));
    case Code::kBusy: return Retryable(IOStatus::Busy(where, text));
    case Code::kTimedOut: return Retryable(IOStatus::TimedOut(where, text));
    case Code::kZoneFull: return Retryable(IOStatus::IOError(where, text));
    case Code::kIo:
    case Code::kExists:
    case Code::kReadOnly:
    case Code::kShutdown:
    case Code::kPermission:
    case Code::kNotADirectory:
    case Code::kIsADirectory:
    case Code::kNotEmpty:
    case Code::kUnknownOutcome: break;
  }
  return IOStatus::IOError(where, text);
}

IOStatus ToWriteStatus(const Error& error, std::string_view doing, std::string_view path) {
  if (error.code() != Code::kIo && error.code() != Code::kBusy) return ToIOStatus(error, doing, path);
  if (IsFullHost(error)) return Retryable(IOStatus::NoSpace(WhileDoing(doing, path), TextOf(error)));
  return Retryable(IOStatus::IOError(WhileDoing(doing, path), TextOf(error)));
}

IOStatus ToIOStatusOrNotFound(const Error& error, std::string_view doing, std::string_view path) {
  if (error.code() != Code::kNotFound && error.code() != Code::kNotADirectory) {
    return ToIOStatus(error, doing, path);
  }
  return IOStatus::NotFound(WhileDoing(doing, path), TextOf(error));
}

IOStatus ExceptionStatus(const char* what) noexcept {
  try {
    return IOStatus::IOError("zenfs: an operation was abandoned", Printable(what));
  } catch (...) {
    return IOStatus::IOError(IOStatus::kMemoryLimit);  // without text, so it needs no memory
  }
}

}  // namespace zenfs
