// Files that their writer deletes while a reader has them open.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <atomic>

#include "base/aligned_buffer.h"
#include "base/sync_point.h"
#include "testing/random_bytes.h"
#include "volume/mount/volume_flush_test_rig.h"
#include "volume/reader/reader_test_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

TEST_F(ReaderTest, AFileDeletedDuringAReadFailsAndNeverShowsOtherBytes) {
  for (const char* name : {"a.sst", "a.log"}) {
    const std::string content = RandomBytes(300'000, 1);
    Put(name, content);
    const auto file = Open(name);
    const auto read = ReadWhile(*file, content.size(), [&] {
      ASSERT_TRUE(IsOk(volume_->Unlink(name)));
      OverwriteFreeZones();
    });
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), Code::kNotFound);
    EXPECT_THAT(read.error().text(), HasSubstr(std::string(name) + " (file "));
    EXPECT_THAT(read.error().text(), HasSubstr("its writer has deleted it"));
    std::byte first;
    EXPECT_EQ(CodeOf(file->Read(0, std::span(&first, 1))), Code::kNotFound);
  }
}

// A look may learn of commits and fail nevertheless. The next one finds nothing new.
TEST_F(ReaderTest, AFileDeletedBeforeALookThatFailedNeverShowsOtherBytes) {
  const std::string content = RandomBytes(300'000, 1);
  Put("a.sst", content);
  const auto file = Open("a.sst");
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  OverwriteFreeZones();
  // As after a power loss, the end of the log is torn; so a look asks twice where it is.
  AlignedBuffer torn(device_->geometry().block_size);
  torn.Append(AsBytes(std::string(device_->geometry().block_size, 't')));
  for (const ZoneId zone : volume_->info().superblock.metadata_zones) {
    const ZoneInfo info = device_->ReportZone(zone).value();
    if (!IsActive(info.condition)) continue;
    ASSERT_TRUE(IsOk(device_->Write(info.start + info.WrittenBytes(), torn.View())));
  }
  {
    const During during(*this, [&](std::string_view name) {
      if (name != "LogFollower::Refresh:ended") return;
      reader_device_->Inject({.command = FaultyDevice::Command::kReport, .times = FaultyDevice::kForEver});
    });
    EXPECT_EQ(CodeOf(reader_->List("")), Code::kIo);
  }
  reader_device_->ClearFaults();
  ASSERT_TRUE(IsOk(reader_->List("")));
  std::string read(content.size(), '\0');
  EXPECT_EQ(CodeOf(file->Read(0, std::as_writable_bytes(std::span(read)))), Code::kNotFound);
}

TEST_F(ReaderTest, ASmallFileIsReadOnThroughItsHandleWhateverBecomesOfIt) {
  Put("CURRENT", "old");
  const auto file = Open("CURRENT");
  Put("tmp", "new");
  ASSERT_TRUE(IsOk(volume_->Rename("tmp", "CURRENT")));
  EXPECT_EQ(ReadAll(*file), "old");
  OverwriteFreeZones();
  EXPECT_EQ(ReadAll(*file), "old");
  EXPECT_EQ(Read("CURRENT"), "new");
}

TEST_F(ReaderTest, ASmallFileThatIsReplacedWhileItIsOpenedIsItsSuccessor) {
  Put("CURRENT", "old");
  bool done = false;
  const During during(*this, [&](std::string_view name) {
    if (name != "ReaderVolume::OpenForRead:found" || std::exchange(done, true)) return;
    Put("tmp", "new");
    ASSERT_TRUE(IsOk(volume_->Rename("tmp", "CURRENT")));
    OverwriteFreeZones();
  });
  EXPECT_EQ(Read("CURRENT"), "new");
  EXPECT_TRUE(done);
}

// Each name has a volume of its own, in which nothing presses the writer to clean its log.
class ReadOn : public ReaderTest, public testing::WithParamInterface<std::string> {};

TEST_P(ReadOn, ADeletedFileIsReadOnUntilItsZonesAreReset) {
  const std::string name = GetParam();
  const std::string content = RandomBytes(300'000, 1);
  // These keep the zones from being reset.
  const std::string before = "before-" + name;
  const std::string after = "after-" + name;
  Put(before, RandomBytes(10'000, 2));
  Put(name, content);
  Put(after, RandomBytes(10'000, 3));
  const auto file = Open(name);
  const auto read = ReadWhile(*file, content.size(), [&] { ASSERT_TRUE(IsOk(volume_->Unlink(name))); });
  ASSERT_TRUE(IsOk(read));
  EXPECT_EQ(*read, content);
  EXPECT_EQ(ReadAll(*file), content);
  std::string part(100, '\0');
  ReadRequest request{.offset = 299'950, .into = std::as_writable_bytes(std::span(part)), .status = {}};
  file->ReadMany(std::span(&request, 1));
  ASSERT_TRUE(IsOk(request.status));
  EXPECT_EQ(part.substr(0, request.into.size()), content.substr(299'950));
  ASSERT_TRUE(IsOk(volume_->Unlink(before)));
  ASSERT_TRUE(IsOk(volume_->Unlink(after)));
  OverwriteFreeZones();
  std::byte first;
  EXPECT_EQ(CodeOf(file->Read(0, std::span(&first, 1))), Code::kNotFound);
}
INSTANTIATE_TEST_SUITE_P(, ReadOn, testing::Values("a.sst", "a.log"));

}  // namespace
}  // namespace zenfs

// Zones that a reader uses rest before they are reset.

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
    if (name != "ZoneManager::Rest:rests") return;
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
