// Mounts of a damaged metadata log.
#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "base/aligned_buffer.h"
#include "device/forwarding_device.h"
#include "format/metalog_payload.h"
#include "metalog/metalog_test_util.h"

namespace zenfs::metalog_damage_test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kDamageZones = 4;

// A read-only device on which chosen blocks are unreadable. A write is a test failure.
class UnreadableBlocks final : public ForwardingDevice {
 public:
  explicit UnreadableBlocks(ZonedDevice& device, OpenMode mode = OpenMode::kReadOnly)
      : ForwardingDevice(device), mode_(mode) {}
  std::vector<std::uint64_t> bad;  // device offsets of blocks

  OpenMode mode() const override { return mode_; }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    for (const std::uint64_t block : bad) {
      if (block >= offset.value && block < offset.value + into.size()) return Fail(Code::kIo, "unreadable");
    }
    return inner().Read(offset, into);
  }
  Status Write(DeviceOffset, std::span<const ByteView>) override { return Refused(); }
  Result<DeviceOffset> Append(ZoneId, ByteView) override { return Fail(Code::kReadOnly, "written"); }
  Status Reset(ZoneId) override { return Refused(); }
  Status Finish(ZoneId) override { return Refused(); }
  Status Open(ZoneId) override { return Refused(); }
  Status Close(ZoneId) override { return Refused(); }
  Status Flush() override { return Refused(); }

 private:
  static Status Refused() {
    ADD_FAILURE() << "a read-only log changed the device";
    return Fail(Code::kReadOnly, "read-only");
  }
  const OpenMode mode_;
};

class MetalogDamageTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBlock = 4096;

  // Generation 1 in zone 0, generation 2 in zone 1: superblock, header, snapshot, SwitchComplete, five commits.
  MetalogDamageTest() : device_(CreateMemoryDevice(SmallGeometry(256 << 10))) {
    EXPECT_TRUE(Formatted(*device_, kDamageZones).ok());
    const auto log = MustOpen(*device_, kDamageZones);
    EXPECT_TRUE(log->Commit(CreateNamed(kFirstTestId)).ok());
    EXPECT_TRUE(log->Switch().ok());
    for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_TRUE(log->Commit(CreateNamed(kFirstTestId + i)).ok());
  }
  Result<std::unique_ptr<Metalog>> OpenWithout(std::uint32_t zone, std::uint64_t block) {
    return OpenWithout(zone, std::vector<std::uint64_t>{block});
  }
  Result<std::unique_ptr<Metalog>> OpenWithout(std::uint32_t zone, const std::vector<std::uint64_t>& blocks,
                                               OpenMode mode = OpenMode::kReadOnly) {
    UnreadableBlocks damaged(*device_, mode);
    for (const std::uint64_t block : blocks)
      damaged.bad.push_back(device_->geometry().ZoneStart(ZoneId(zone)).value + block * kBlock);
    return Metalog::Open(damaged, SuperblockFor(device_->geometry(), kDamageZones));
  }
  void ExpectCorruption(std::uint64_t block, const std::string& text) {
    const auto log = OpenWithout(1, block);
    ASSERT_FALSE(log) << "block " << block;
    EXPECT_EQ(log.error().code(), Code::kCorruption) << log.error().text();
    EXPECT_THAT(log.error().text(), HasSubstr(text)) << "block " << block;
  }

  std::unique_ptr<EmulatorDevice> device_;
};

TEST_F(MetalogDamageTest, UndamagedLogOpensReadOnlyWithoutAWrite) {
  UnreadableBlocks watched(*device_);
  const auto log = Metalog::Open(watched, SuperblockFor(device_->geometry(), kDamageZones));
  ASSERT_TRUE(log) << log.error().ToString();
  EXPECT_EQ((*log)->recovered().files().size(), 6u);
  EXPECT_EQ((*log)->Commit(CreateNamed(7)).error().code(), Code::kReadOnly);
}

TEST_F(MetalogDamageTest, ProvenGenerationThatCannotBeReadIsNotReplacedByAnOlderOne) {
  ExpectCorruption(1, "its header cannot be read");
  ExpectCorruption(2,
                   "complete up to commit 1, but its frame 1 in zone 1 at byte 8192 cannot be read: its "
                   "snapshot, and commits from 2 on, may be missing");
}

TEST_F(MetalogDamageTest, DamageAfterSwitchCompleteIsDetectedAndNamesTheCommits) {
  ExpectCorruption(4, "later frames can: commit 2 may be missing");
  ExpectCorruption(6, "later frames can: commit 4 may be missing");
}

// D4 of docs/internals/failures.md.
TEST_F(MetalogDamageTest, UnreadableLastFrameIsATornOne) {
  const auto log = OpenWithout(1, 8);
  ASSERT_TRUE(log) << log.error().ToString();
  EXPECT_EQ((*log)->recovered().files().size(), 5u);
}

TEST_F(MetalogDamageTest, DamageInARetiredGenerationDoesNotMatter) {
  for (std::uint64_t block = 0; block < 4; ++block) EXPECT_TRUE(OpenWithout(0, block)) << block;
}

TEST_F(MetalogDamageTest, OfflineSpareZoneDoesNotMatter) {
  ZENFS_ASSERT_OK(device_->SetCondition(ZoneId(3), ZoneCondition::kOffline));
  const auto log = MustOpen(*device_, kDamageZones);
  ZENFS_ASSERT_OK(log->Switch());
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 9)));
}

// A SwitchBegin would make the next mount assume that the offline zone holds newer commits.
TEST_F(MetalogDamageTest, ASwitchWithoutATargetZoneDoesNotBegin) {
  ZENFS_ASSERT_OK(device_->SetCondition(ZoneId(0), ZoneCondition::kReadOnly));
  ZENFS_ASSERT_OK(device_->SetCondition(ZoneId(2), ZoneCondition::kOffline));
  ZENFS_ASSERT_OK(device_->SetCondition(ZoneId(3), ZoneCondition::kReadOnly));
  {
    const auto log = MustOpen(*device_, kDamageZones);
    EXPECT_EQ(log->Switch().error().code(), Code::kNoSpace);
    ZENFS_ASSERT_OK(log->Commit(UnlinkNamed(kFirstTestId)));
  }
  const auto log = Metalog::Open(*device_, SuperblockFor(device_->geometry(), kDamageZones));
  ASSERT_TRUE(log) << log.error().ToString();
  EXPECT_FALSE(HasFile((*log)->recovered(), kFirstTestId));
}

// The newest generation is in the offline zone; the older one is intact, but superseded.
TEST_F(MetalogDamageTest, OlderGenerationIsNotWrittenWhenTheNewestMayBeOffline) {
  ZENFS_ASSERT_OK(device_->SetCondition(ZoneId(1), ZoneCondition::kOffline));
  const auto log = Metalog::Open(*device_, SuperblockFor(device_->geometry(), kDamageZones));
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), Code::kReadOnly);
  EXPECT_THAT(log.error().text(), HasSubstr("zone 1 is offline"));
}

// Neither header nor SwitchComplete of zone 1 can be read. But a log switch had begun, and blocks after the header were
// written, so the header was durable.
TEST_F(MetalogDamageTest, OlderGenerationIsNotWrittenWhenTheNewestMayBeUnreadable) {
  const std::vector<std::uint64_t> cases[] = {
      {1, 3}, {1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 8}};
  for (const std::vector<std::uint64_t>& blocks : cases) {
    const auto log = OpenWithout(1, blocks, OpenMode::kExclusive);
    ASSERT_FALSE(log) << blocks.size() << " blocks";
    EXPECT_EQ(log.error().code(), Code::kReadOnly) << log.error().text();
    EXPECT_THAT(log.error().text(), HasSubstr("metadata zone 1 ")) << blocks.size() << " blocks";
    EXPECT_TRUE(OpenWithout(1, blocks)) << "a read-only mount must succeed";
  }
}

TEST_F(MetalogDamageTest, SupersededGenerationMayBeUnreadableAltogether) {
  std::vector<std::uint64_t> blocks(64);
  std::iota(blocks.begin(), blocks.end(), 0);
  EXPECT_TRUE(OpenWithout(0, blocks));
}

// A log switch was cut off after its first write, and the power loss left that write incomplete.
TEST_F(MetalogDamageTest, TornStartOfASwitchIsIgnored) {
  const auto log = MustOpen(*device_, kDamageZones);
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 6)));
  log->Stop();
  UnreadableBlocks torn(*device_);
  AlignedBuffer block(2 * kBlock);
  block.Resize(2 * kBlock);
  ZENFS_ASSERT_OK(device_->Write(device_->geometry().ZoneStart(ZoneId(2)), block.View()));
  torn.bad.push_back(device_->geometry().ZoneStart(ZoneId(2)).value + kBlock);
  const auto again = Metalog::Open(torn, SuperblockFor(device_->geometry(), kDamageZones));
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ((*again)->recovered().files().size(), 7u);
}

// Which zone such a generation begins with would be a matter of chance, so a follower and a mount could differ.
TEST_F(MetalogDamageTest, TwoZonesThatClaimOnePlaceInTheLogAreRefused) {
  const Superblock superblock = SuperblockFor(device_->geometry(), kDamageZones);
  AlignedBuffer head(2 * kBlock);
  head.Resize(2 * kBlock);
  ZENFS_ASSERT_OK(device_->Read(device_->geometry().ZoneStart(ZoneId(1)), head.Span()));
  const auto header = FindLogHeader(head.View(kBlock, kBlock), superblock.seed, ZoneId(1),
                                    static_cast<std::uint32_t>(kBlock));
  ASSERT_TRUE(header);
  const auto frame =
      ParseFrame(head.View(kBlock, kBlock), FrameSeed::Of(superblock.seed, ZoneId(1), header->generation, 0),
                 kBlock, kBlock);
  ASSERT_TRUE(frame.valid());
  SealFrame(head.Span().subspan(kBlock), frame.header,
            FrameSeed::Of(superblock.seed, ZoneId(2), header->generation, 0));
  ZENFS_ASSERT_OK(device_->Write(device_->geometry().ZoneStart(ZoneId(2)), head.View()));
  const auto log = Metalog::Open(*device_, superblock);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), Code::kCorruption);
  EXPECT_THAT(log.error().text(), HasSubstr("zones 1 and 2 both claim to be zone 0 of generation 2"));
}

TEST_F(MetalogDamageTest, CurrentZoneThatTurnedReadOnlyIsLeft) {
  ZENFS_ASSERT_OK(device_->SetCondition(ZoneId(1), ZoneCondition::kReadOnly));
  const auto log = MustOpen(*device_, kDamageZones);
  EXPECT_EQ(log->recovered().files().size(), 6u);
  EXPECT_EQ(log->stats().generation, 3u);
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 9)));
}

// D11: the write pointer of a full zone may be reported beyond the capacity.
TEST_F(MetalogDamageTest, CurrentZoneThatTurnedFullIsLeft) {
  ZENFS_ASSERT_OK(device_->SetCondition(ZoneId(1), ZoneCondition::kFull));
  const auto log = MustOpen(*device_, kDamageZones);
  EXPECT_EQ(log->recovered().files().size(), 6u);
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 9)));
}

}  // namespace
}  // namespace zenfs::metalog_damage_test
