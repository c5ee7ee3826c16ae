// All differences between versions of RocksDB that concern this adapter. The other files of this
// folder use the names below and contain no version number.
//
//    7.1    ReadAsync, Poll, AbortIO
//    7.4    FSDirectory::Close
//    8.1    FileSystem::use_async_io tells RocksDB that asynchronous reads are offered
//    8.4    FileSystem::SupportedOps tells RocksDB that asynchronous reads are offered; the default claims them
//    8.10   IOOptions::io_activity, or a little before: what a read is for
//    9.0    the callback of ReadAsync takes FSReadRequest& (const before)
//    10.1   FileOptions::write_hint is known when a file is opened (before: a call after the opening)
//    10.5   FSRandomAccessFile::GetFileSize
//    11.2   FileOptions::open_contract: promises not to reopen a file and not to read it while it is written
//           FSRandomAccessFile::GetFileOpenMetadata, FileOptions::file_metadata: make the next opening cheaper
//    11.5   FileSystem::SyncFile
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/lifetime.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/io_status.h"
#include "rocksdb/slice.h"
#include "rocksdb/version.h"

#define ZENFS_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) || (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

#if !ZENFS_ROCKSDB_AT_LEAST(6, 29)
#error "ZenFS needs RocksDB 6.29 or later"
#endif

#define ZENFS_ROCKSDB_HAS_READ_ASYNC ZENFS_ROCKSDB_AT_LEAST(7, 1)
#define ZENFS_ROCKSDB_HAS_DIRECTORY_CLOSE ZENFS_ROCKSDB_AT_LEAST(7, 4)
#define ZENFS_ROCKSDB_HAS_USE_ASYNC_IO (ZENFS_ROCKSDB_AT_LEAST(8, 1) && !ZENFS_ROCKSDB_AT_LEAST(8, 4))
#define ZENFS_ROCKSDB_HAS_SUPPORTED_OPS ZENFS_ROCKSDB_AT_LEAST(8, 4)
#define ZENFS_ROCKSDB_HAS_SIZE_OF_READ_FILE ZENFS_ROCKSDB_AT_LEAST(10, 5)
#define ZENFS_ROCKSDB_HAS_OPEN_METADATA ZENFS_ROCKSDB_AT_LEAST(11, 2)
#define ZENFS_ROCKSDB_HAS_SYNC_FILE ZENFS_ROCKSDB_AT_LEAST(11, 5)

namespace zenfs {

// rocksdb::Status is always written with its namespace here; a bare Status is zenfs::Status.
using rocksdb::DataVerificationInfo;
using rocksdb::FileOptions;
using rocksdb::FSReadRequest;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

#if ZENFS_ROCKSDB_AT_LEAST(9, 0)
using ReadAsyncCallback = std::function<void(FSReadRequest&, void*)>;
#elif ZENFS_ROCKSDB_HAS_READ_ASYNC
using ReadAsyncCallback = std::function<void(const FSReadRequest&, void*)>;
#endif

// The numbers are equal on both sides (model/lifetime.h); an unknown number counts as not set.
inline Lifetime LifetimeOf(rocksdb::Env::WriteLifeTimeHint hint) {
  const int value = static_cast<int>(hint);
  return value >= 0 && value < kLifetimeCount ? static_cast<Lifetime>(value) : Lifetime::kNotSet;
}

// The lifetime of a file, as far as it is known at its opening.
inline Lifetime LifetimeAtOpen([[maybe_unused]] const FileOptions& options) {
#if ZENFS_ROCKSDB_AT_LEAST(10, 1)
  return LifetimeOf(options.write_hint);
#else
  return Lifetime::kNotSet;
#endif
}

// Whether a compaction reads. False for versions that do not say so.
inline bool IsForCompaction([[maybe_unused]] const IOOptions& options) {
#if ZENFS_ROCKSDB_AT_LEAST(8, 10)
  return options.io_activity == rocksdb::Env::IOActivity::kCompaction;
#else
  return false;
#endif
}

// The data that RocksDB kept of the last opening of the file; empty if none.
inline std::string_view MetadataAtOpen([[maybe_unused]] const FileOptions& options) {
#if ZENFS_ROCKSDB_HAS_OPEN_METADATA
  if (options.file_metadata != nullptr) return *options.file_metadata;
#endif
  return {};
}

// Returns nothing if `running`, the result of GetRocksVersionAsString(true) in this process, is the
// version whose headers this adapter was compiled with. Otherwise returns one line that names both:
// their virtual tables differ, so no other function of that RocksDB may be called.
[[nodiscard]] std::optional<std::string> VersionMismatch(std::string_view running);

// Why this library must not serve the RocksDB of this process: VersionMismatch, or two of them. Nothing if it may.
[[nodiscard]] std::optional<std::string> ReasonNotToServe();

// The version of the headers: "7.8.3".
[[nodiscard]] std::string CompiledRocksVersion();

}  // namespace zenfs
