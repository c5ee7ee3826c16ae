#include <fmt/format.h>

#include "volume/shared_buffers.h"

#include "device/forwarding_device.h"
#include "format/buffer_area_layout.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

class CountedReads final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  Status Read(DeviceOffset from, ByteSpan into) override {
    ++reads;
    return ForwardingDevice::Read(from, into);
  }
  int reads = 0;
};

// Files that anybody may have put beside the buffers of a writer that died.
class SharedBuffersTest : public VolumeFlushTest {
 protected:
  // Returns the path of the buffers.
  std::string DieWithFlushedBytes() {
    Open("a.log");
    EXPECT_TRUE(IsOk(AppendAndFlush("flushed")));
    Die();
    EXPECT_EQ(Buffers().size(), 1u);
    return Buffers().front();
  }
  // The same content under the `number`th other name.
  static std::string CopyOf(const std::string& path, int number) {
    std::string copy = path;
    copy.replace(copy.size() - 4, 4, fmt::format("{:04x}", number));
    std::filesystem::copy_file(path, copy);
    std::filesystem::permissions(copy,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return copy;
  }
  static void ChangeKey(const std::string& path) {
    std::vector<std::byte> page(kBufferAreaHeaderBytes);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.read(reinterpret_cast<char*>(page.data()), static_cast<std::streamsize>(page.size()));
    BufferAreaHeader header;
    std::memcpy(&header, page.data(), sizeof header);
    ++header.key[0];
    SealBufferAreaHeader(page, header);
    file.seekp(0).write(reinterpret_cast<const char*>(page.data()),
                        static_cast<std::streamsize>(page.size()));
  }
};

TEST_F(SharedBuffersTest, ForgedFilesOfADeviceCostNoReadsOfIt) {
  const std::string path = DieWithFlushedBytes();
  for (int i = 0; i < 50; ++i) ChangeKey(CopyOf(path, i));
  CountedReads device(*device_);
  NeededBuffers needed(device);
  std::vector<int> reads;
  for (const SharedBuffers& found : FindSharedBuffers({directory_}).files) {
    ASSERT_TRUE(found.finished && !found.problem) << found.path;
    if (found.path == path) continue;
    const auto bytes = needed.BytesOf(found);
    ASSERT_TRUE(IsOk(bytes));
    EXPECT_FALSE(*bytes) << found.path;
    reads.push_back(device.reads);
  }
  ASSERT_EQ(reads.size(), 50u);
  EXPECT_GT(reads.front(), 0);
  EXPECT_EQ(reads.back(), reads.front());
  const auto bytes = needed.BytesOf(LookAtSharedBuffers(path));
  ASSERT_TRUE(IsOk(bytes));
  EXPECT_EQ(*bytes, 7u);
}

TEST_F(SharedBuffersTest, OfManyCopiesAFewAreReadAndTheOthersNamed) {
  const std::string path = DieWithFlushedBytes();
  for (int i = 0; i < 6; ++i) CopyOf(path, i);
  NeededBuffers needed(*device_);
  int read = 0;
  for (const SharedBuffers& found : FindSharedBuffers({directory_}).files) {
    const auto bytes = needed.BytesOf(found);
    if (bytes) {
      ++read;
      EXPECT_EQ(*bytes, 7u);
      continue;
    }
    EXPECT_EQ(bytes.error().code(), Code::kBusy);
    EXPECT_NE(bytes.error().text().find(found.path), std::string::npos) << bytes.error().text();
  }
  EXPECT_EQ(read, NeededBuffers::kContentsRead);
}

TEST_F(SharedBuffersTest, FilesBeyondTheBoundAreCounted) {
  const std::string path = DieWithFlushedBytes();
  for (int i = 0; i < 4; ++i) CopyOf(path, i);
  const FoundBuffers found = FindSharedBuffers({directory_, directory_}, 2);
  EXPECT_EQ(found.files.size(), 2u);
  EXPECT_EQ(found.omitted, 3u);
  EXPECT_EQ(FindSharedBuffers({directory_}).omitted, 0u);
}

TEST_F(SharedBuffersTest, AFileLargerThanMountsMakeIsDamaged) {
  const std::string path = DieWithFlushedBytes();
  const std::string copy = CopyOf(path, 1);
  std::filesystem::resize_file(copy, SharedMemory::kWholeBytesMax + 4096);
  const SharedBuffers found = LookAtSharedBuffers(copy);
  ASSERT_TRUE(found.problem);
  EXPECT_NE(found.problem->text().find("more than"), std::string::npos) << found.problem->text();
  EXPECT_EQ(LookAtSharedBuffers(path).held_bytes, 7u);
}

}  // namespace
}  // namespace zenfs
