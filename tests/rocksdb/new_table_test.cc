// A table that was just written, and the host's cache.
#include "base/clock.h"
#include "file_contract.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

// On a device in memory whose reads take a microsecond, so that it models a page cache and counts its own reads.
class NewTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EmulatorOptions options;
    options.read_us = 1;
    auto device = CreateMemoryDevice(
        {.zones = 40, .zone_size = 1 << 20, .zone_capacity = 768 << 10, .max_open = 14, .max_active = 14},
        options);
    device_ = device.get();
    ASSERT_TRUE(FormatVolume(*device, {}).ok());
    auto volume = Volume::Mount(std::move(device), {});
    ASSERT_TRUE(volume.ok());
    fs_ = std::make_unique<ZenFileSystem>("zenfs://test", *std::move(volume));
  }
  std::uint64_t DeviceReads() const { return device_->meter().of(EmulatorCommand::kRead).commands; }
  void Write(const std::string& path, const FileOptions& options) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_STATUS_OK(fs_->NewWritableFile(path, options, &file, nullptr));
    ASSERT_STATUS_OK(file->Append(text_, kIo, nullptr));
    ASSERT_STATUS_OK(file->Sync(kIo, nullptr));
    ASSERT_STATUS_OK(file->Close(kIo, nullptr));
  }
  // Reads of the device while the whole table is read, 4 KiB at a time, last block first.
  std::uint64_t DeviceReadsOfReading(const std::string& path) {
    const std::uint64_t before = DeviceReads();
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    EXPECT_STATUS_OK(fs_->NewRandomAccessFile(path, FileOptions(), &file, nullptr));
    std::string scratch(4096, '\0');
    for (std::uint64_t end = text_.size(); end != 0; end -= scratch.size()) {
      Slice read;
      EXPECT_STATUS_OK(file->Read(end - scratch.size(), scratch.size(), kIo, &read, scratch.data(), nullptr));
      EXPECT_TRUE(read == text_.substr(end - scratch.size(), scratch.size()));
    }
    return DeviceReads() - before;
  }

  const std::string text_ = RandomBytes(1 << 20, 1);
  EmulatorDevice* device_ = nullptr;
  std::unique_ptr<ZenFileSystem> fs_;
};

TEST_F(NewTableTest, IsReadWithoutTheDevice) {
  Write("/000001.sst", FileOptions());
  EXPECT_EQ(DeviceReadsOfReading("/000001.sst"), 0u);
}

TEST_F(NewTableTest, OfDirectIoTakesNoCache) {
  FileOptions writes;
  writes.use_direct_writes = true;
  FileOptions reads;
  reads.use_direct_reads = true;
  std::string path = "/000001.sst";
  for (const FileOptions& options : {writes, reads}) {
    const std::uint64_t before = DeviceReads();
    Write(path, options);
    EXPECT_EQ(DeviceReads(), before);
    EXPECT_EQ(DeviceReadsOfReading(path), text_.size() / 4096);
    path = "/000002.sst";
  }
}

}  // namespace
}  // namespace zenfs
