// The flushed part of a plain file in shared memory, which a mount finds after the death of the process.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/boot_id.h"
#include "base/random.h"
#include "buffers/buffer_area_place.h"
#include "buffers/orphaned_buffers.h"
#include "file/flushed_tail.h"
#include "file/plain_file_test_rig.h"

namespace zenfs {
namespace {

constexpr FileId kOwner(12);

class PlainFileFlushTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(DefaultSharedMemoryDirectory().empty()) << "this test needs a writable tmpfs";
    ASSERT_TRUE(std::filesystem::create_directory(directory_));
    MakeArea(3);
    place_ = area_->place();
    key_ = area_->PlaceEdit().key;
    Open();
  }
  void TearDown() override {
    rig_.file.reset();
    std::filesystem::remove_all(directory_);
  }

  void MakeArea(std::uint32_t slots) {
    auto made = BufferArea::Create({.directory = directory_,
                                    .identity = "file:1:2",
                                    .volume = volume_,
                                    .epoch = 7,
                                    .slots = slots,
                                    .buffer_bytes = 64 << 10});
    ASSERT_TRUE(made) << made.error().ToString();
    area_ = *std::move(made);
  }
  void Open() {
    rig_.file.reset();
    rig_.file = std::make_unique<PlainFile>(PlainFile::Deps{.device = &rig_.zone_rig.device,
                                                            .reads = &rig_.reads,
                                                            .zones = rig_.zone_rig.zones.get(),
                                                            .sink = rig_.zone_rig.sink.get(),
                                                            .buffer_bytes = 8 * kTestBlock,
                                                            .buffers = area_,
                                                            .id = kOwner},
                                            rig_.committed, rig_.committed_size, Lifetime::kMedium);
  }
  PlainFile& file() { return *rig_.file; }
  ::testing::AssertionResult AppendAndFlush(const std::string& text) {
    if (!file().Append(AsBytes(text)).ok()) return ::testing::AssertionFailure() << "append";
    const Result<bool> flushed = file().TryFlush();
    if (!flushed) return ::testing::AssertionFailure() << flushed.error().ToString();
    if (!*flushed) return ::testing::AssertionFailure() << "not kept in shared memory";
    return ::testing::AssertionSuccess();
  }
  // Returns the end of the file that a mount finds in shared memory; 0 if there is nothing.
  std::uint64_t EndBehindADeath() {
    rig_.file.reset();
    area_.reset();
    const auto left = OpenOrphanedBuffers({place_, "file:1:2", volume_, 7, BootId(), key_});
    EXPECT_TRUE(left) << left.error().ToString();
    if (!left || left->pieces.empty()) return 0;
    EXPECT_EQ(left->pieces.size(), 1u);
    EXPECT_EQ(left->pieces[0].owner, kOwner);
    return left->pieces[0].end();
  }

  const std::string directory_ =
      DefaultSharedMemoryDirectory() + "/zenfs-test-" + std::to_string(RandomSeed());
  const Uuid volume_ = Uuid::Generate();
  std::shared_ptr<BufferArea> area_;
  std::string place_;
  std::string key_;
  PlainFileRig rig_;
};

TEST_F(PlainFileFlushTest, ASyncEmptiesTheBuffer) {
  ASSERT_TRUE(AppendAndFlush("flushed"));
  EXPECT_TRUE(file().HasFlushedBytes());
  ASSERT_TRUE(rig_.Sync().ok());
  EXPECT_FALSE(file().HasFlushedBytes());
  EXPECT_EQ(EndBehindADeath(), 0u);
}

TEST_F(PlainFileFlushTest, BytesThatAreFlushedDuringACommitAreKept) {
  ASSERT_TRUE(AppendAndFlush("flushed, "));
  const auto drained = file().Drain();
  ASSERT_TRUE(drained);
  ASSERT_TRUE(AppendAndFlush("behind it"));
  file().MarkCommitted(*drained);
  EXPECT_EQ(EndBehindADeath(), 18u);
}

TEST_F(PlainFileFlushTest, AFailedSyncKeepsTheBytes) {
  ASSERT_TRUE(AppendAndFlush("flushed"));
  EXPECT_FALSE(rig_.Sync(true).ok());
  EXPECT_EQ(EndBehindADeath(), 7u);
}

TEST_F(PlainFileFlushTest, ARecordOfMoreExtentsThanReadersTakeIsNotKept) {
  MakeArea(1024);
  FlushedTail flushed(area_, kOwner);
  const auto content = [](std::uint64_t extents) {
    SetExtents edit{.id = kOwner, .from_offset = 0, .size = extents * kTestBlock};
    for (std::uint64_t at = 0; at < edit.size; at += kTestBlock)
      edit.extents.push_back({.file_offset = at, .place = DeviceOffset(2 * at), .length = kTestBlock});
    return FlushedTail::Content{.device_end = edit.size,
                                .uncommitted = edit,
                                .tail_offset = edit.size,
                                .tail = AsBytes(std::string_view("tail")),
                                .revision = extents};
  };
  const std::uint64_t most = area_->extents_max();
  EXPECT_TRUE(flushed.Keep(content(most)));
  EXPECT_FALSE(flushed.Keep(content(most + 1)));
  EXPECT_TRUE(flushed.Keeps(most * kTestBlock + 4, most)) << "the last content stays";
  flushed.Clear();
}

TEST_F(PlainFileFlushTest, TruncatedBytesAreNotFound) {
  ASSERT_TRUE(AppendAndFlush(std::string(50'000, 'x')));
  for (const std::uint64_t size : {49'999ul, 40'000ul, 8 * kTestBlock + 1, 100ul}) {
    ASSERT_TRUE(file().Truncate(size).ok());
    ASSERT_TRUE(file().HasFlushedBytes());
  }
  EXPECT_EQ(EndBehindADeath(), 100u);
}

// Then a mount ignores what is kept, so that only a commit shows the shorter file.
TEST_F(PlainFileFlushTest, ACutOfCommittedBytesNeedsASync) {
  ASSERT_TRUE(file().Append(AsBytes("OLD!")).ok());
  ASSERT_TRUE(rig_.Sync().ok());
  EXPECT_EQ(file().Truncate(4), true);
  EXPECT_EQ(file().Truncate(3), false);
  ASSERT_TRUE(rig_.Sync().ok());
  EXPECT_EQ(file().Truncate(3), true);
  ASSERT_TRUE(AppendAndFlush("newer"));
  EXPECT_EQ(file().Truncate(5), true) << "cut in the buffer";
  EXPECT_EQ(file().Truncate(3), true) << "the committed file";
  EXPECT_FALSE(file().HasFlushedBytes());
}

// What was flushed stays until the shorter file is committed.
TEST_F(PlainFileFlushTest, ACutThatFindsNoBufferNeedsASyncAndKeepsTheBytesUntilThen) {
  ASSERT_TRUE(AppendAndFlush(std::string(50'000, 'x')));
  std::vector<AppendBuffer> others(3);
  for (AppendBuffer& other : others) static_cast<void>(other.BeginTail(area_, 77, 0, {}));
  EXPECT_EQ(file().Truncate(5'000), false);
  EXPECT_TRUE(file().HasFlushedBytes());
  EXPECT_FALSE(rig_.Sync(true).ok());
  EXPECT_EQ(file().Truncate(5'000), false) << "tried again after a failure";
  EXPECT_TRUE(file().HasFlushedBytes());
  ASSERT_TRUE(rig_.Sync().ok());
  EXPECT_FALSE(file().HasFlushedBytes());
  EXPECT_EQ(file().Truncate(5'000), true);
}

// A mount may find what the commit in flight has.
TEST_F(PlainFileFlushTest, ACutDuringACommitOfMoreBytesNeedsASync) {
  ASSERT_TRUE(file().Append(AsBytes(std::string(50'000, 'x'))).ok());
  const auto drained = file().Drain();
  ASSERT_TRUE(drained.ok());
  EXPECT_EQ(file().Truncate(40'000), false);
  EXPECT_EQ(file().TryFlush(), false);
  file().MarkCommitted(*drained);
  EXPECT_EQ(file().Truncate(40'000), false);
  EXPECT_EQ(file().TryFlush(), false);
}

// Bytes that were flushed before a cut whose commit failed are not mixed with those behind it.
TEST_F(PlainFileFlushTest, BytesBehindACutThatWasNotCommittedReplaceTheOldOnes) {
  ASSERT_TRUE(file().Append(AsBytes(std::string(100, 'a'))).ok());
  ASSERT_TRUE(rig_.Sync().ok());
  const std::string rest(150, 'b');
  ASSERT_TRUE(file().PositionedAppend(AsBytes(rest), 50).ok());  // behind the committed end
  EXPECT_EQ(file().TryFlush(), true);
  EXPECT_EQ(file().Truncate(100), false);
  EXPECT_FALSE(rig_.Sync(true).ok());
  ASSERT_TRUE(AppendAndFlush(std::string(150, 'c')));
  rig_.file.reset();
  area_.reset();
  const auto left = OpenOrphanedBuffers({place_, "file:1:2", volume_, 7, BootId(), key_});
  ASSERT_TRUE(left && left->pieces.size() == 1);
  EXPECT_EQ(left->pieces[0].end(), 250u);
  const std::string found(AsText(left->pieces[0].bytes));
  EXPECT_EQ(found, std::string(found.size() - 150, found[0]) + std::string(150, 'c')) << found;
}

// An open file shows the committed content, and so must the next mount.
TEST_F(PlainFileFlushTest, ForgetAfterTheCloseDropsTheBytes) {
  ASSERT_TRUE(AppendAndFlush("flushed"));
  rig_.file.reset();
  EXPECT_TRUE(area_->HasGivenUp());
  area_->Forget(kOwner.value);
  EXPECT_FALSE(area_->HasGivenUp());
  Open();
  EXPECT_EQ(EndBehindADeath(), 0u);
}

TEST_F(PlainFileFlushTest, ForgetBeforeTheCloseDropsTheBytes) {
  ASSERT_TRUE(AppendAndFlush("flushed"));
  area_->Forget(kOwner.value);
  rig_.file.reset();
  EXPECT_FALSE(area_->HasGivenUp());
  EXPECT_EQ(EndBehindADeath(), 0u);
}

// The next mount may read these extents.
TEST_F(PlainFileFlushTest, ZonesOfFlushedExtentsStayPinnedAfterTheClose) {
  ASSERT_TRUE(AppendAndFlush(std::string(50'000, 'x')));
  const auto pins = [&] {
    std::uint64_t pinned = 0;
    for (std::uint32_t zone = 0; zone < rig_.zone_rig.device.geometry().zone_count; ++zone)
      pinned += rig_.zone_rig.zones->Zone(ZoneId(zone)).pins;
    return pinned;
  };
  rig_.file.reset();
  EXPECT_NE(pins(), 0u);
  area_->Forget(kOwner.value);
  EXPECT_EQ(pins(), 0u);
}

TEST_F(PlainFileFlushTest, WithoutAFreeBufferNothingIsKept) {
  AppendBuffer taken[3];
  for (AppendBuffer& buffer : taken) buffer.Begin(area_, 4096, 1, 0);
  ASSERT_TRUE(file().Append(AsBytes(std::string("bytes"))).ok());
  const auto flushed = file().TryFlush();
  ASSERT_TRUE(flushed);
  EXPECT_FALSE(*flushed);
}

}  // namespace
}  // namespace zenfs
