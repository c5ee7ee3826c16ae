#include "metalog/metalog.h"

#include <gmock/gmock.h>

#include "metalog/generation_writer.h"
#include "metalog/metadata_scan.h"
#include "metalog/metalog_test_util.h"
#include "metalog/replay.h"
#include "testing/edit_walk.h"

namespace zenfs::metalog_test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kZones = 3;

class MetalogTest : public ::testing::Test {
 protected:
  MetalogTest() : device_(CreateMemoryDevice(SmallGeometry(1 << 20))) {
    const Status done = Formatted(*device_, kZones);
    EXPECT_TRUE(done.ok()) << done.error().ToString();
  }
  Superblock superblock() const { return SuperblockFor(device_->geometry(), kZones); }
  std::unique_ptr<Metalog> Open() { return MustOpen(*device_, kZones); }

  std::unique_ptr<EmulatorDevice> device_;
};

TEST_F(MetalogTest, FreshLogHasTheInitialState) {
  const auto log = Open();
  EXPECT_EQ(log->recovered().next_id(), 1'000'000u);
  EXPECT_TRUE(log->recovered().files().empty());
  EXPECT_EQ(log->stats().generation, 1u);
  EXPECT_EQ(log->stats().sequence, 0u);
}

TEST_F(MetalogTest, CommittedEditsAreFoundAfterReopening) {
  {
    const auto log = Open();
    for (std::uint64_t id = 0; id < 50; ++id) ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + id)));
    ZENFS_ASSERT_OK(log->Commit(UnlinkNamed(kFirstTestId)));
    EXPECT_EQ(log->stats().commits, 51u);
  }
  const auto log = Open();
  EXPECT_FALSE(HasFile(log->recovered(), kFirstTestId));
  EXPECT_EQ(log->recovered().files().size(), 49u);
  EXPECT_EQ(log->stats().sequence, 51u);
}

// D3 of docs/internals/failures.md.
TEST_F(MetalogTest, CleanReopeningDoesNotWrite) {
  ZENFS_ASSERT_OK(Open()->Commit(CreateNamed(kFirstTestId)));
  const std::uint64_t before = device_->meter().of(EmulatorCommand::kWrite).commands;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Open()->stats().switches, 0u);
  EXPECT_EQ(device_->meter().of(EmulatorCommand::kWrite).commands, before);
}

TEST_F(MetalogTest, RandomHistoryIsReplayedExactly) {
  EditWalk walk(7);
  auto log = Open();
  State expected = log->recovered();
  for (int i = 0; i < 600; ++i) {
    const std::vector<Edit> edits = walk.Next();
    ASSERT_TRUE(expected.Apply(edits).ok());
    ZENFS_ASSERT_OK(log->Commit(edits));
    if (i % 150 == 149) {
      log.reset();
      log = Open();
      ASSERT_TRUE(log->recovered() == expected) << "after commit " << i;
    }
  }
}

class RecordingSink : public CommitSink {
 public:
  void OnCommitted(std::span<const Edit> edits) override { EXPECT_TRUE(state.Apply(edits).ok()); }
  State state;
};

TEST_F(MetalogTest, SinkSeesEveryCommitInOrder) {
  const auto log = Open();
  RecordingSink sink;
  sink.state = log->recovered();
  log->SetSink(&sink);
  for (std::uint64_t id = 0; id < 20; ++id) ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + id)));
  log->Stop();
  EXPECT_TRUE(sink.state == Open()->recovered());
}

TEST_F(MetalogTest, StoppedLogAcceptsNothing) {
  const auto log = Open();
  log->Stop();
  EXPECT_EQ(log->Commit(CreateNamed(kFirstTestId)).error().code(), Code::kShutdown);
  EXPECT_EQ(log->Switch().error().code(), Code::kShutdown);
}

TEST_F(MetalogTest, LogOfAnotherVolumeIsNotTaken) {
  Superblock other = superblock();
  other.seed.bytes[0] ^= 1;
  const auto log = Metalog::Open(*device_, other);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), Code::kCorruption);
  EXPECT_THAT(log.error().text(), HasSubstr("no metadata zone holds a complete generation"));
}

TEST_F(MetalogTest, UnknownReadOnlyFeatureForbidsWriting) {
  Superblock newer = superblock();
  newer.read_only_compatible = 1;
  const auto log = Metalog::Open(*device_, newer);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), Code::kReadOnly);
}

// Replay and scan agree on which frames are valid.
TEST_F(MetalogTest, AFrameWithAWrongSequenceIsDamage) {
  const Superblock volume = superblock();
  for (const FrameKind kind : {FrameKind::kSnapshot, FrameKind::kSwitchBegin}) {
    ZENFS_ASSERT_OK(Formatted(*device_, kZones));
    auto found = Replay(*device_, volume);
    ASSERT_TRUE(found) << found.error().ToString();
    Metazones zones(*device_, volume);
    GenerationWriter writer(*device_, volume, zones, *found);
    const std::string nothing(1, '\0');  // a list of no edits
    ZENFS_ASSERT_OK(writer.Write(kind, nothing, kNumbersEnd, kNumbersEnd));
    const auto log = Metalog::Open(*device_, volume);
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code(), Code::kCorruption);
    EXPECT_THAT(log.error().text(), HasSubstr("it claims to follow commit 9223372036854775808"));
    const auto scan = ScanMetadata(*device_, volume);
    ASSERT_TRUE(scan) << scan.error().ToString();
    EXPECT_EQ(scan->flaws.size(), 1u);
  }
}

// D8 of docs/internals/failures.md.
TEST_F(MetalogTest, DataIsFlushedBeforeItsCommitIsWritten) {
  const auto log = Open();
  const std::uint64_t before = device_->meter().of(EmulatorCommand::kFlush).commands;
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId), CommitOptions{.data_since = FlushMark::AtOpen()}));
  EXPECT_EQ(device_->meter().of(EmulatorCommand::kFlush).commands, before + 2);
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 1)));
  EXPECT_EQ(device_->meter().of(EmulatorCommand::kFlush).commands, before + 3);
}

TEST(MetalogFormat, ConventionalAndTooFewZonesAreRefused) {
  EmulatorGeometry geometry = SmallGeometry(1 << 20);
  geometry.conventional = 1;
  const auto device = CreateMemoryDevice(geometry);
  EXPECT_EQ(Formatted(*device, kZones).error().code(), Code::kInvalidArgument);
  const auto plain = CreateMemoryDevice(SmallGeometry(1 << 20));
  EXPECT_EQ(Formatted(*plain, 1).error().code(), Code::kInvalidArgument);
}

TEST(MetalogFormat, OlderLogInTheSameZonesIsForgotten) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  {
    const auto log = MustOpen(*device, kZones);
    ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId)));
    ZENFS_ASSERT_OK(log->Switch());
    ZENFS_ASSERT_OK(log->Switch());
  }
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  EXPECT_TRUE(MustOpen(*device, kZones)->recovered().files().empty());
}

// The log and its writer disagree on the last commit or on the position in the zone.
class MetalogContradiction : public MetalogTest {
 protected:
  Replayed Found() {
    auto found = Replay(*device_, superblock());
    EXPECT_TRUE(found) << found.error().ToString();
    return *std::move(found);
  }
};

TEST_F(MetalogContradiction, CommitBeyondTheEndOfItsZoneIsNotWrittenAndMakesTheLogReadOnly) {
  Replayed found = Found();
  const DeviceOffset end = device_->geometry().ZoneStart(found.chain.back()) + found.position;
  found.position = found.capacity + device_->geometry().block_size;
  Metalog log(*device_, superblock(), found);
  const Status refused = log.Commit(CreateNamed(kFirstTestId), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kCorruption);
  EXPECT_THAT(refused.error().ToString(), testing::AllOf(HasSubstr("the volume is read-only from now on"),
                                                         HasSubstr("please report it")));
  EXPECT_EQ(log.health().error().code(), Code::kCorruption);
  EXPECT_EQ(log.Commit(CreateNamed(kFirstTestId + 1), {}).error().code(), Code::kCorruption);
  EXPECT_EQ(log.Switch().error().code(), Code::kCorruption);
  const auto report = device_->ReportZone(found.chain.back());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->write_pointer, end);
}

TEST_F(MetalogContradiction, CommitThatDoesNotFollowTheLastOneIsRefused) {
  const Replayed found = Found();
  const Superblock volume = superblock();
  Metazones zones(*device_, volume);
  const GenerationWriter writer(*device_, volume, zones, found);
  EXPECT_TRUE(writer.CheckNextCommit(found.sequence + 1, found.sequence + 3).ok());
  for (const std::uint64_t first : {found.sequence, found.sequence + 2}) {
    const Status next = writer.CheckNextCommit(first, first);
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.error().code(), Code::kCorruption);
    EXPECT_THAT(next.error().ToString(), HasSubstr("please report it"));
  }
}

}  // namespace
}  // namespace zenfs::metalog_test
