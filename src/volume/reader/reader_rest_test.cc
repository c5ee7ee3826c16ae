// Zones that a reader uses rest before they are reset.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/sync_point.h"
#include "testing/random_bytes.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

class ReaderRestTest : public VolumeFlushTest {
 protected:
  void SetUp() override {
    VolumeFlushTest::SetUp();
    auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
    ASSERT_TRUE(IsOk(reader));
    reader_ = *std::move(reader);
  }
  void TearDown() override {
    handle_.reset();
    reader_.reset();
    VolumeFlushTest::TearDown();
  }
  void Put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(IsOk(PutFile(*volume_, path, content)));
  }
  void OpenForRead(const std::string& path) {
    auto opened = reader_->OpenForRead(path);
    ASSERT_TRUE(IsOk(opened));
    handle_ = *std::move(opened);
  }

  std::shared_ptr<Volume> reader_;
  std::unique_ptr<FileHandle> handle_;
};

TEST_F(ReaderRestTest, ADeletedFileIsReadOnWhileItsZonesRest) {
  std::atomic<bool> rests = false;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "zone.operations.rest") return;
    rests = true;
    rests.notify_all();
  });
  const std::string content = RandomBytes(2 * (768 << 10), 1);  // two zones
  Put("a.sst", content);
  OpenForRead("a.sst");
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  rests.wait(false);
  EXPECT_EQ(ContentOf(*handle_).value_or("gone"), content);
}

TEST_F(ReaderRestTest, AWriterThatNeedsTheZonesGetsThemAndTheReaderSeesNoOtherBytes) {
  const std::string content = RandomBytes(2 * (768 << 10), 1);
  Put("a.sst", content);
  OpenForRead("a.sst");
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  // Files that stay, until the device is full.
  for (unsigned round = 2;; ++round) {
    ASSERT_LT(round, 30u);
    const Status put = PutFile(*volume_, fmt::format("{}.sst", round), RandomBytes(768 << 10, round));
    const auto read = ContentOf(*handle_);
    if (!put.ok()) {
      EXPECT_EQ(put.error().code(), Code::kNoSpace);
      break;
    }
    if (read) {
      EXPECT_EQ(*read, content);
    } else {
      EXPECT_EQ(read.error().code(), Code::kNotFound);
    }
  }
  EXPECT_EQ(CodeOf(ContentOf(*handle_)), Code::kNotFound);
  EXPECT_TRUE(IsOk(volume_->Unmount()));  // does not wait either
}

}  // namespace
}  // namespace zenfs
