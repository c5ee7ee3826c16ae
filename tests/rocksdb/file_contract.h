// The fixture of the tests of open files: a fresh volume, and files opened on it by RocksDB's interface.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb_plugin/zenfs_file_system.h"
#include "test_volume.h"

namespace zenfs {

class FileContract : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(fs_, nullptr); }

  std::unique_ptr<rocksdb::FSWritableFile> Create(const std::string& path,
                                                  const FileOptions& options = FileOptions()) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_STATUS_OK(fs_->NewWritableFile(path, options, &file, nullptr));
    return file;
  }
  std::unique_ptr<rocksdb::FSWritableFile> Reopen(const std::string& path) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_STATUS_OK(fs_->ReopenWritableFile(path, FileOptions(), &file, nullptr));
    return file;
  }
  std::unique_ptr<rocksdb::FSRandomAccessFile> OpenRandom(const std::string& path,
                                                          const FileOptions& options = FileOptions()) {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    EXPECT_STATUS_OK(fs_->NewRandomAccessFile(path, options, &file, nullptr));
    return file;
  }
  std::unique_ptr<rocksdb::FSSequentialFile> OpenSequential(const std::string& path) {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    EXPECT_STATUS_OK(fs_->NewSequentialFile(path, FileOptions(), &file, nullptr));
    return file;
  }
  static std::string ReadAt(const rocksdb::FSRandomAccessFile& file, std::uint64_t offset, std::size_t n) {
    std::string scratch(n, '\0');
    Slice result;
    const IOStatus status = file.Read(offset, n, IOOptions(), &result, scratch.data(), nullptr);
    return status.ok() ? result.ToString() : status.ToString();
  }

  TestVolume volume_;
  std::shared_ptr<rocksdb::FileSystem> fs_ = volume_.Open();
  const IOOptions io_;
};

// Whether RocksDB makes asynchronous reads; versions before 8.1 always do if the user asks for them.
inline bool OffersAsyncReads([[maybe_unused]] rocksdb::FileSystem& fs) {
#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
  std::int64_t ops = 0;
  fs.SupportedOps(ops);
  return (ops & (1 << rocksdb::FSSupportedOps::kAsyncIO)) != 0;
#elif ZENFS_ROCKSDB_HAS_USE_ASYNC_IO
  return fs.use_async_io();
#else
  return dynamic_cast<ZenFileSystem&>(fs).volume()->StartsReads();
#endif
}

}  // namespace zenfs
