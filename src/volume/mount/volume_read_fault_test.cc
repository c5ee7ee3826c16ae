// Reads that fail: once, which has no effect, and permanently, which costs only the file in that place.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "device/read_only_view.h"
#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

class ReadFaultTest : public VolumeFaultTest {
 protected:
  static std::string Content(char c) { return std::string(3 * 4096 + 100, c); }
};

TEST_F(ReadFaultTest, TransientErrorOfAPlainFileIsNotSeenAndIsCounted) {
  Put("a.sst", Content('a'));
  faulty_->Inject({.command = Command::kRead, .times = 2, .bytes = BlockOf("a.sst")});
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_EQ(ReadRetries(), 2u);
}

TEST_F(ReadFaultTest, TransientErrorOfReadsTogetherIsNotSeen) {
  Put("a.sst", Content('a'));
  const auto file = volume_->OpenForRead("a.sst");
  ASSERT_TRUE(IsOk(file));
  std::string first(4096, '?'), second(5000, '?');
  std::vector<ReadRequest> requests(2);
  requests[0] = {.offset = 0, .into = std::as_writable_bytes(std::span(first)), .status = {}};
  requests[1] = {.offset = 4100, .into = std::as_writable_bytes(std::span(second)), .status = {}};
  faulty_->Inject({.command = Command::kRead, .kth = 1, .times = 1});
  faulty_->Inject({.command = Command::kRead, .kth = 2, .times = 2});
  (*file)->ReadMany(requests);
  for (const ReadRequest& request : requests) EXPECT_TRUE(IsOk(request.status));
  EXPECT_EQ(first, std::string(4096, 'a'));
  EXPECT_EQ(second, std::string(5000, 'a'));
  EXPECT_GE(ReadRetries(), 2u);
}

TEST_F(ReadFaultTest, TransientErrorOfALogIsNotSeen) {
  Put("1.log", Content('w'));
  faulty_->Inject({.command = Command::kRead, .times = 2, .bytes = BlockOf("1.log")});
  EXPECT_EQ(Get("1.log"), Content('w'));
  EXPECT_EQ(ReadRetries(), 2u);
}

TEST_F(ReadFaultTest, EveryReadOfAMountMayFailOnceAndNothingIsMissing) {
  Put("a.sst", Content('a'));
  Put("1.log", Content('w'));
  const auto sealed = [&] {
    MountFaulty();
    const std::uint64_t reads = faulty_->count(Command::kRead);
    EXPECT_TRUE(volume_->notices().empty());
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    return reads;
  };
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  const std::uint64_t reads = sealed();
  ASSERT_GT(reads, 2u) << "superblock, metadata log and log zones";
  for (std::uint64_t kth = 1; kth <= reads; ++kth) {
    MountFaulty({{.command = Command::kRead, .kth = kth, .times = 2}});
    EXPECT_TRUE(volume_->notices().empty()) << kth;
    EXPECT_EQ(Get("a.sst"), Content('a')) << kth;
    EXPECT_EQ(Get("1.log"), Content('w')) << kth;
    EXPECT_TRUE(IsOk(volume_->Unmount()));
  }
}

TEST_F(ReadFaultTest, ReadOnlyMountRepeatsToo) {
  Put("a.sst", Content('a'));
  const auto view = MakeReadOnlyView(*device_);
  auto device = std::make_unique<FaultyDevice>(Borrow(*view));
  FaultyDevice* const faulty = device.get();
  faulty->Inject({.command = Command::kRead, .times = 2});
  const auto reader = Volume::Mount(std::move(device), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  faulty->Inject({.command = Command::kRead, .times = 2});
  const auto file = (*reader)->OpenForRead("a.sst");
  ASSERT_TRUE(IsOk(file));
  EXPECT_EQ(ReadAll(**file), Content('a'));
}

TEST_F(ReadFaultTest, PermanentErrorCostsOnlyItsFileAndNamesThePlace) {
  Put("a.sst", Content('a'));
  Put("b.sst", Content('b'));
  const DeviceOffset place = PlaceOf("a.sst");
  const FileId id = volume_->Stat("a.sst")->id;
  faulty_->Inject({.command = Command::kRead, .times = kForEver, .bytes = BlockOf("a.sst")});
  const std::uint64_t before = faulty_->count(Command::kRead);
  const Status read = ReadFile("a.sst");
  ASSERT_FALSE(read.ok());
  EXPECT_LE(faulty_->count(Command::kRead), before + 2 * (3 + 1)) << "the read is repeated without end";
  EXPECT_EQ(read.error().code(), Code::kIo);
  EXPECT_THAT(read.error().text(), HasSubstr(fmt::format("file {}: ", id.value)));
  EXPECT_THAT(read.error().text(),
              HasSubstr(fmt::format("zone {} at device offset {}", ZoneOf("a.sst").value, place.value)));
  EXPECT_EQ(Get("b.sst"), Content('b'));
  EXPECT_TRUE(IsOk(WriteFile("c.sst", Content('c'))));
  EXPECT_TRUE(IsOk(volume_->Unlink("a.sst")));
}

TEST_F(ReadFaultTest, PermanentErrorOfALogNamesThePlace) {
  Put("1.log", Content('1'));
  Put("2.log", Content('2'));
  faulty_->Inject({.command = Command::kRead, .times = kForEver, .bytes = BlockOf("1.log")});
  const Status read = ReadFile("1.log");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), HasSubstr(fmt::format("file {}: ", volume_->Stat("1.log")->id.value)));
  EXPECT_THAT(read.error().text(), HasSubstr(fmt::format("zone {} at device offset {}", ZoneOf("1.log").value,
                                                         BlockOf("1.log").from.value)));
  EXPECT_EQ(Get("2.log"), Content('2'));
}

TEST_F(ReadFaultTest, PermanentErrorOfALogAtMountCostsOnlyThatLog) {
  Put("1.log", Content('1'));
  Put("2.log", Content('2'));
  const FaultyDevice::Bytes block = BlockOf("1.log");
  IgnoreError(volume_->Unmount());
  MountFaulty({{.command = Command::kRead, .times = kForEver, .bytes = block}});
  EXPECT_THAT(volume_->notices(), Contains(HasSubstr("(/1.log): bytes 0 to ")));
  const Status lost = ReadFile("1.log");
  ASSERT_FALSE(lost.ok()) << "synced bytes are missing without an error";
  EXPECT_EQ(lost.error().code(), Code::kCorruption);
  EXPECT_THAT(lost.error().text(), HasSubstr("bytes 0 to "));
  EXPECT_EQ(Get("2.log"), Content('2'));
  EXPECT_TRUE(IsOk(WriteFile("3.log", Content('3'))));
}

TEST_F(ReadFaultTest, ZoneThatGoesOfflineCostsOnlyTheFilesInIt) {
  Put("a.sst", Content('a'));
  Put("1.log", "x");
  const ZoneId lost = ZoneOf("a.sst");
  ASSERT_TRUE(IsOk(device_->SetCondition(lost, ZoneCondition::kOffline)));
  const Status read = ReadFile("a.sst");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), HasSubstr(fmt::format("zone {}", lost.value)));
  EXPECT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
  EXPECT_NE(ZoneOf("b.sst"), lost);
  EXPECT_EQ(Get("b.sst"), Content('b'));
  EXPECT_EQ(Get("1.log"), "x");
  EXPECT_TRUE(IsOk(volume_->Unlink("a.sst")));
}

TEST_F(ReadFaultTest, ZoneThatGoesReadOnlyStaysReadableAndIsWrittenNoMore) {
  Put("a.sst", Content('a'));
  const ZoneId fixed = ZoneOf("a.sst");
  ASSERT_TRUE(IsOk(device_->SetCondition(fixed, ZoneCondition::kReadOnly)));
  EXPECT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
  EXPECT_NE(ZoneOf("b.sst"), fixed);
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_EQ(volume_->Zones()[fixed.value].phase, ZonePhase::kRetired);
  Remount();
  EXPECT_EQ(Get("a.sst"), Content('a'));
}

}  // namespace
}  // namespace zenfs
