#include "backends/zonefs/zone_writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "testing/plain_zone_files.h"
#include "testing/temp_directory.h"

namespace zenfs::zone_writers_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kCapacity = 8 * 4096;

class ZoneWritersTest : public testing::Test {
 protected:
  static std::vector<ZoneFileState> LookAtAll(const ZoneFiles& files) {
    std::vector<ZoneFileState> zones;
    for (std::uint32_t i = 0; i < files.count(); ++i) zones.push_back(files.Look(ZoneId(i)).value());
    return zones;
  }
  // Writes `blocks` at the write pointer, as the device would.
  Status Write(std::uint32_t zone, std::uint64_t blocks = 1) {
    const std::uint64_t at = writers.Known(ZoneId(zone)).size;
    ZENFS_ASSIGN_OR_RETURN(const int fd, writers.BeginWrite(ZoneId(zone), at, blocks * 4096));
    const std::string data(blocks * 4096, 'd');
    EXPECT_EQ(::pwrite(fd, data.data(), data.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(data.size()));
    writers.EndWrite(ZoneId(zone), at + data.size());
    return {};
  }
  ZoneCondition Condition(std::uint32_t zone) {
    return writers.Info(ZoneId(zone), DeviceOffset(0), kCapacity, files.Look(ZoneId(zone)).value()).condition;
  }
  static Code CodeOf(const Status& status) { return status.ok() ? Code::kExists : status.error().code(); }

  TempDirectory directory;
  PlainZoneFiles files{directory.path(), {.zones = 8, .capacity = kCapacity, .max_open = 3}};
  ZoneWriters writers{"zonefs:/z", files, {.open = 3, .active = 5}, LookAtAll(files)};
};

using enum ZoneCondition;

TEST_F(ZoneWritersTest, WritingOneZoneTooManyClosesTheOneWrittenLongestAgo) {
  for (std::uint32_t zone : {0, 1, 2, 0, 3}) ASSERT_TRUE(Write(zone).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 2 3");
  EXPECT_EQ(Condition(1), kClosed);
  EXPECT_EQ(Condition(0), kImplicitlyOpen);
  ASSERT_TRUE(Write(1).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 1 3");
}

TEST_F(ZoneWritersTest, ZoneThatIsBeingWrittenKeepsItsDescriptor) {
  ASSERT_TRUE(writers.BeginWrite(ZoneId(0), 0, 4096));
  ASSERT_TRUE(writers.BeginWrite(ZoneId(1), 0, 4096));
  ASSERT_TRUE(Write(2).ok());
  ASSERT_TRUE(Write(3).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 1 3");
  ASSERT_TRUE(writers.BeginWrite(ZoneId(3), 4096, 4096));
  EXPECT_EQ(CodeOf(Write(4)), Code::kBusy) << "all three are being written";
  writers.EndWrite(ZoneId(1), 4096);
  EXPECT_TRUE(Write(4).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 3 4");
}

TEST_F(ZoneWritersTest, ZonesOpenedExplicitlyStayOpen) {
  for (std::uint32_t zone : {0, 1, 2}) ASSERT_TRUE(writers.Open(ZoneId(zone)).ok());
  EXPECT_EQ(CodeOf(Write(3)), Code::kBusy);
  EXPECT_EQ(CodeOf(writers.Open(ZoneId(3))), Code::kBusy);
  ASSERT_TRUE(writers.Close(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kEmpty);
  EXPECT_TRUE(Write(3).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 2 3");
}

TEST_F(ZoneWritersTest, LimitOfActiveZonesHoldsBeforeAFileIsOpened) {
  for (std::uint32_t zone = 0; zone < 5; ++zone) ASSERT_TRUE(Write(zone).ok());
  EXPECT_EQ(CodeOf(Write(5)), Code::kBusy);
  EXPECT_EQ(CodeOf(writers.Open(ZoneId(5))), Code::kBusy);
  EXPECT_EQ(files.OpenForWriting(), "2 3 4") << "nothing was closed in vain";
  ASSERT_TRUE(writers.Finish(ZoneId(0)).ok());
  EXPECT_TRUE(Write(5).ok());
}

TEST_F(ZoneWritersTest, FullZoneIsLetGoOf) {
  ASSERT_TRUE(Write(0, 7).ok());
  EXPECT_EQ(files.OpenForWriting(), "0");
  ASSERT_TRUE(Write(0).ok());
  EXPECT_EQ(files.OpenForWriting(), "");
  EXPECT_EQ(Condition(0), kFull);
}

TEST_F(ZoneWritersTest, ResetAndFinishLetGoAndSetTheSize) {
  ASSERT_TRUE(Write(0).ok());
  ASSERT_TRUE(Write(1).ok());
  ASSERT_TRUE(writers.Reset(ZoneId(0)).ok());
  ASSERT_TRUE(writers.Finish(ZoneId(1)).ok());
  EXPECT_EQ(files.OpenForWriting(), "");
  EXPECT_EQ(files.Look(ZoneId(0))->size, 0u);
  EXPECT_EQ(files.Look(ZoneId(1))->size, kCapacity);
  EXPECT_TRUE(writers.Finish(ZoneId(1)).ok()) << "once more";
  EXPECT_EQ(files.truncates, 2);
  EXPECT_TRUE(Write(0).ok());
}

TEST_F(ZoneWritersTest, FinishThatNeedsAnOpenZoneGetsOne) {
  for (std::uint32_t zone : {0, 1, 2, 3}) ASSERT_TRUE(Write(zone).ok());
  files.finish_opens = true;
  EXPECT_TRUE(writers.Finish(ZoneId(0)).ok());
  EXPECT_EQ(files.OpenForWriting(), "2 3");
  ASSERT_TRUE(Write(4).ok());
  ASSERT_TRUE(writers.Open(ZoneId(2)).ok());
  ASSERT_TRUE(writers.Open(ZoneId(3)).ok());
  ASSERT_TRUE(writers.Open(ZoneId(4)).ok());
  EXPECT_EQ(CodeOf(writers.Finish(ZoneId(1))), Code::kBusy) << "nothing else can be closed";
}

TEST_F(ZoneWritersTest, LimitOfOthersIsMetByClosingOwnZones) {
  const auto strangers = files.OpenToWrite(ZoneId(7));
  ASSERT_TRUE(strangers);
  for (std::uint32_t zone : {0, 1, 2}) ASSERT_TRUE(Write(zone).ok());
  EXPECT_EQ(files.OpenForWriting(), "1 2 7");
  ASSERT_TRUE(writers.Open(ZoneId(1)).ok());
  ASSERT_TRUE(writers.Open(ZoneId(2)).ok());
  EXPECT_EQ(CodeOf(Write(0)), Code::kBusy);
}

TEST_F(ZoneWritersTest, FailedFirstWriteLeavesTheZoneEmptyAndClosed) {
  ASSERT_TRUE(writers.BeginWrite(ZoneId(0), 0, 4096));
  writers.FailWrite(ZoneId(0), files.Look(ZoneId(0)).value());
  EXPECT_EQ(files.OpenForWriting(), "");
  EXPECT_EQ(Condition(0), kEmpty);
  ASSERT_TRUE(writers.Open(ZoneId(0)).ok());
  ASSERT_TRUE(writers.BeginWrite(ZoneId(0), 0, 4096));
  writers.FailWrite(ZoneId(0), files.Look(ZoneId(0)).value());
  EXPECT_EQ(Condition(0), kExplicitlyOpen) << "that was asked for";
}

TEST_F(ZoneWritersTest, FailedCommandTellsOfADeadZoneAndOfAMountThatWentReadOnly) {
  files.truncates_fail = true;
  ASSERT_TRUE(Write(0).ok());
  EXPECT_EQ(CodeOf(writers.Reset(ZoneId(0))), Code::kIo);
  EXPECT_EQ(writers.Known(ZoneId(0)).size, 4096u);
  files.mounted_read_only = true;
  const Status mount = writers.Finish(ZoneId(0));
  EXPECT_EQ(CodeOf(mount), Code::kReadOnly);
  EXPECT_THAT(mount.error().text(), HasSubstr("errors=repair"));
  ::chmod(files.Path(ZoneId(0)).c_str(), 0440);
  EXPECT_EQ(CodeOf(writers.Reset(ZoneId(0))), Code::kReadOnly);
  EXPECT_EQ(Condition(0), kReadOnly);
  ::chmod(files.Path(ZoneId(1)).c_str(), 0);
  EXPECT_EQ(CodeOf(writers.Reset(ZoneId(1))), Code::kNotFound);
  EXPECT_EQ(CodeOf(writers.Open(ZoneId(1))), Code::kNotFound) << "and that is remembered";
}

TEST_F(ZoneWritersTest, ManyWritersNeverHoldMoreThanTheLimit) {
  std::vector<Thread> threads;
  std::atomic<int> written{0};
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back("writer", [&, t] {
      for (std::uint32_t i = 0; i < 40; ++i) {
        // Distributes five zones so that no two threads use the same one. Any zone may lose its
        // descriptor to another.
        const std::uint32_t zone = t == 2 ? 4 : 2 * t + i % 2;
        if (writers.Known(ZoneId(zone)).size == kCapacity) {
          ASSERT_TRUE(writers.Reset(ZoneId(zone)).ok());
        }
        const Status status = Write(zone);
        ASSERT_TRUE(status.ok()) << status.error().ToString();
        ++written;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(written, 120);
}

}  // namespace
}  // namespace zenfs::zone_writers_test
