// Converts errors of ZenFS to those of RocksDB.
//
// A missing file is an IOError with the subcode kPathNotFound, as in RocksDB's own POSIX file
// system. Only FileExists and GetChildren return NotFound, by contract (NotFoundStatus). Retryable
// tells RocksDB that the same call may succeed later without help: after deletions on a full
// device, or after a missed slot or deadline. Data loss is set if durable bytes can't be read.
//
// Names and messages can contain text from a device that others made, and RocksDB's programs print an error as it is: each
// text is made printable (base/printable.h).
//
// Threads: pure functions.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// "While <doing> <path>", for an error of the plugin itself.
[[nodiscard]] std::string WhileDoing(std::string_view doing, std::string_view path);

// "While <doing> <path>: <text>". `doing` is a verb form: "opening".
[[nodiscard]] IOStatus ToIOStatus(const Error& error, std::string_view doing, std::string_view path);

[[nodiscard]] inline IOStatus ToIOStatus(const Status& status, std::string_view doing,
                                         std::string_view path) {
  return status.ok() ? IOStatus::OK() : ToIOStatus(status.error(), doing, path);
}

// Like ToIOStatus, for a call that writes: a device error is then retryable. The file keeps the
// error, but its zone is given up, and another file uses another zone. RocksDB then treats the
// error as one that DB::Resume may end; otherwise the database would have to be opened again. A
// device that stayed busy is such an error, too: RocksDB ignores Busy, and would continue to write
// a log whose last record is incomplete. If the host of an emulated device is full, it is NoSpace.
[[nodiscard]] IOStatus ToWriteStatus(const Error& error, std::string_view doing, std::string_view path);

[[nodiscard]] inline IOStatus ToWriteStatus(const Status& status, std::string_view doing,
                                            std::string_view path) {
  return status.ok() ? IOStatus::OK() : ToWriteStatus(status.error(), doing, path);
}

// Like ToIOStatus, but NotFound if the name, or a directory above it, does not exist, as RocksDB's
// contract demands.
[[nodiscard]] IOStatus ToIOStatusOrNotFound(const Error& error, std::string_view doing,
                                            std::string_view path);

// For an exception that must not leave the plugin. Never throws.
[[nodiscard]] IOStatus ExceptionStatus(const char* what) noexcept;

// Runs `body`, which returns an IOStatus, and turns exceptions into a status: RocksDB is not
// exception-safe.
template <typename Body>
[[nodiscard]] IOStatus Guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return ExceptionStatus("out of memory");
  } catch (const std::exception& exception) {
    return ExceptionStatus(exception.what());
  } catch (...) {
    return ExceptionStatus("unknown exception");
  }
}

}  // namespace zenfs
