// Errors of ZenFS as RocksDB wants them.
//
// A missing file is an IOError with the subcode kPathNotFound, as RocksDB's own POSIX file system has it;
// only FileExists and GetChildren answer NotFound, by contract (NotFoundStatus). Retryable tells RocksDB that
// the same call may succeed later without anybody's help: a full device after deletions, a slot or deadline
// that was missed. Data loss is set where bytes that were durable can't be read.
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

// "While <doing> <path>: <text>". `doing` is a verb form: "opening".
[[nodiscard]] IOStatus ToIOStatus(const Error& error, std::string_view doing, std::string_view path);

[[nodiscard]] inline IOStatus ToIOStatus(const Status& status, std::string_view doing,
                                         std::string_view path) {
  return status.ok() ? IOStatus::OK() : ToIOStatus(status.error(), doing, path);
}

// As ToIOStatus, of a call that writes: an error of the device is worth a retry then. It stays with the file it met, but
// the zone it met is given up, and another file goes elsewhere. RocksDB takes that for an error that DB::Resume may end;
// without it only opening the database anew would help. A device that stayed busy is such an error too: of a Busy RocksDB
// takes no notice, and writes on in a log whose last record is not all there.
[[nodiscard]] IOStatus ToWriteStatus(const Error& error, std::string_view doing, std::string_view path);

[[nodiscard]] inline IOStatus ToWriteStatus(const Status& status, std::string_view doing,
                                            std::string_view path) {
  return status.ok() ? IOStatus::OK() : ToWriteStatus(status.error(), doing, path);
}

// As ToIOStatus, but NotFound where RocksDB's contract asks for it: the name, or a directory above it, is not
// there.
[[nodiscard]] IOStatus ToIOStatusOrNotFound(const Error& error, std::string_view doing,
                                            std::string_view path);

// An exception that must not leave the plugin. Never throws.
[[nodiscard]] IOStatus ExceptionStatus(const char* what) noexcept;

// Runs `body`, which returns an IOStatus, and turns what it throws into a status: RocksDB is not
// exception-safe.
template <typename Body>
[[nodiscard]] IOStatus Guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& exception) {
    return ExceptionStatus(exception.what());
  } catch (...) {
    return ExceptionStatus("unknown exception");
  }
}

}  // namespace zenfs
