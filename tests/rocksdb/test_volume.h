// A freshly made file system on an emulated device in a directory of its own, reached as RocksDB's users
// reach it: by its URI.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "backends/emulator/emulator.h"
#include "rocksdb_plugin/rocksdb_version.h"
#include "testing/random_bytes.h"
#include "volume/mkfs.h"

namespace zenfs {

class TestVolume {
 public:
  // 64 zones of 16 MiB with 12 MiB capacity, 14 of them open or active at most.
  TestVolume();
  explicit TestVolume(const EmulatorGeometry& geometry);
  // The same 64 zones, and the logs on a second device of 16 zones of 1 MiB.
  struct LogDevice {};
  explicit TestVolume(LogDevice);
  ~TestVolume();
  TestVolume(const TestVolume&) = delete;
  TestVolume& operator=(const TestVolume&) = delete;

  // Makes an empty file system on the device, in place of the one that is there. It must not be mounted.
  void Format(const FormatOptions& options) const;

  // `options` as "ro,buffer_kib:64".
  std::string uri(std::string_view options = "") const;
  std::string device_path() const { return directory_ / "device.img"; }
  std::string directory() const { return directory_; }
  // The file system; a failure is one of the test, and gives null.
  std::shared_ptr<rocksdb::FileSystem> Open(std::string_view options = "") const;
  rocksdb::Status TryOpen(const std::string& uri, std::shared_ptr<rocksdb::FileSystem>* result) const;
  // Runs the checker over the device, which must not be mounted. True when it finds no error.
  ::testing::AssertionResult CheckIsClean() const;

 private:
  std::filesystem::path directory_;
};

inline const IOOptions kIo;

// Keys of the same length, in order.
inline std::string KeyOf(int i) { return "key" + std::to_string(1'000'000 + i); }

// Through a new handle; the text of the error instead if there is one.
std::string ReadWhole(rocksdb::FileSystem& fs, const std::string& path);
// Creates, appends and closes; syncs if asked to.
IOStatus WriteWhole(rocksdb::FileSystem& fs, const std::string& path, const std::string& bytes,
                    bool sync = true);

inline ::testing::AssertionResult IsOk(const rocksdb::Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.ToString();
}

}  // namespace zenfs

#define ASSERT_STATUS_OK(expression) ASSERT_TRUE(::zenfs::IsOk(expression))
#define EXPECT_STATUS_OK(expression) EXPECT_TRUE(::zenfs::IsOk(expression))
