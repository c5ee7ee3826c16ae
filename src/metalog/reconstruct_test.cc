#include "metalog/reconstruct.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/random.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "metalog/generation_writer.h"
#include "metalog/metalog_test_util.h"
#include "metalog/replay.h"
#include "testing/read_counter.h"

namespace zenfs::reconstruct_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kZoneBytes = 256 << 10;
constexpr std::uint32_t kMetadataZones = 3;

class ReconstructTest : public testing::Test {
 protected:
  ReconstructTest() { EXPECT_TRUE(Formatted(*device_, kMetadataZones).ok()); }

  // Creates `count` files with ids from `first`, one commit each; then runs a log switch if `and_switch`.
  void Commit(std::uint64_t first, std::uint64_t count, bool and_switch = false) {
    const auto log = MustOpen(*device_, kMetadataZones);
    for (std::uint64_t i = 0; i < count; ++i) ZENFS_ASSERT_OK(log->Commit(CreateNamed(first + i)));
    if (and_switch) ZENFS_ASSERT_OK(log->Switch());
    log->Stop();
  }
  MetadataScan Scan() {
    auto scan = ScanMetadata(*device_, superblock_);
    EXPECT_TRUE(scan);
    return scan ? *scan : MetadataScan();
  }
  Result<Reconstructed> Found() { return Reconstruct(*device_, superblock_, Scan()); }

  // Rewrites a frame of the newest generation in place. `how` changes its bytes.
  void Change(FrameKind kind, std::size_t which, const std::function<void(ByteSpan, FrameSeed)>& how) {
    const MetadataScan scan = Scan();
    for (const MetadataFrame& frame : scan.generations.back().frames) {
      if (frame.kind != kind || which-- != 0) continue;
      const auto report = device_->ReportZone(frame.zone);
      ASSERT_TRUE(report);
      AlignedBuffer buffer(report->WrittenBytes());
      buffer.Resize(report->WrittenBytes());
      ZENFS_ASSERT_OK(device_->Read(report->start, buffer.Span()));
      how(buffer.Span().subspan(frame.at, frame.bytes),
          FrameSeed::Of(superblock_.seed, frame.zone, frame.of.generation, frame.of.salt));
      ZENFS_ASSERT_OK(device_->Reset(frame.zone));
      ZENFS_ASSERT_OK(device_->Write(report->start, buffer.View()));
      return;
    }
    FAIL() << "no such frame";
  }
  void Flip(FrameKind kind, std::size_t which) {
    Change(kind, which, [](ByteSpan frame, FrameSeed) { frame[66] ^= std::byte{1}; });
  }
  // Makes a commit frame claim commits `first` to `last`, with a valid checksum.
  void Claim(std::size_t which, std::uint64_t first, std::uint64_t last) {
    Change(FrameKind::kCommit, which, [&](ByteSpan frame, FrameSeed seed) {
      FrameHeader header;
      std::memcpy(&header, frame.data(), sizeof header);
      header.sequence = first;
      header.stable_sequence = last;
      SealFrame(frame, header, seed);
    });
  }
  void Drop(std::uint64_t generation) {
    const MetadataScan scan = Scan();
    for (const ScannedGeneration& each : scan.generations) {
      if (each.generation == generation) ZENFS_ASSERT_OK(device_->Reset(each.frames.front().zone));
    }
  }
  static bool Has(const Reconstructed& found, std::uint64_t id) {
    return found.draft.files.contains(FileId(id));
  }

  const std::unique_ptr<EmulatorDevice> device_ = CreateMemoryDevice(SmallGeometry(kZoneBytes));
  const Superblock superblock_ = SuperblockFor(device_->geometry(), kMetadataZones);
};

std::string ListOfOneFile(std::uint64_t id) {
  std::string list;
  EncodeEdits(CreateNamed(id), list);
  return list;
}

// An older frame of many commits, of which a newer generation has every twentieth.
TEST_F(ReconstructTest, PartsOfAFrameCostTheirOwnBytes) {
  constexpr std::uint64_t kCommits = 4000;
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  const Superblock superblock = SuperblockFor(device->geometry(), kMetadataZones);
  ASSERT_TRUE(Formatted(*device, kMetadataZones).ok());
  const auto log = Replay(*device, superblock);
  ASSERT_TRUE(log);
  Metazones zones(*device, superblock);
  std::vector<std::string> lists;
  for (std::uint64_t i = 0; i < kCommits; ++i) lists.push_back(ListOfOneFile(kFirstTestId + i));
  std::vector<const std::string*> members;
  for (const std::string& list : lists) members.push_back(&list);
  GenerationWriter older(*device, superblock, zones, *log);
  ASSERT_TRUE(
      older.Write(FrameKind::kCommit, EncodeCommit(members), log->sequence + 1, log->sequence + kCommits)
          .ok());
  GenerationWriter newer(*device, superblock, zones,
                         GenerationWriter::Start{.generation = log->highest_generation + 1,
                                                 .salt = 7,
                                                 .base_sequence = log->sequence,
                                                 .keep = log->chain,
                                                 .after = log->chain.back()});
  ASSERT_TRUE(newer.BeginZone().ok());
  for (std::uint64_t i = 19; i < kCommits; i += 20) {
    const std::uint64_t sequence = log->sequence + 1 + i;
    ASSERT_TRUE(
        newer.Write(FrameKind::kCommit, EncodeCommit(std::vector{&lists[i]}), sequence, sequence).ok());
  }

  const auto scan = ScanMetadata(*device, superblock);
  ASSERT_TRUE(scan);
  ReadCounter counted(*device);
  const auto found = Reconstruct(counted, superblock, *scan);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ(found->sequence, log->sequence + kCommits);
  EXPECT_TRUE(found->misfits.empty());
  for (std::uint64_t i = 0; i < kCommits; ++i) {
    ASSERT_TRUE(found->draft.files.contains(FileId(kFirstTestId + i))) << i;
  }
  EXPECT_LE(counted.bytes_read, kCommits / 20 * (64 << 10)) << "and not 200 times the frame";
}

// A commit frame with a valid checksum that no writer can have made.
class ImpossibleCommits : public ReconstructTest,
                          public testing::WithParamInterface<std::pair<std::uint64_t, std::uint64_t>> {};

TEST_P(ImpossibleCommits, AreSkipped) {
  Commit(100, 3);
  Claim(2, GetParam().first, GetParam().second);
  const auto found = Found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sequence, 2u);
  EXPECT_EQ(found->highest_sequence, 2u);
  EXPECT_TRUE(found->end_is_unsure);
  EXPECT_TRUE(Has(*found, 101));
  EXPECT_FALSE(Has(*found, 102));
}

constexpr std::uint64_t kHighest = ~std::uint64_t{0};
INSTANTIATE_TEST_SUITE_P(Of, ImpossibleCommits,
                         testing::Values(std::pair(3, 50'000'000),           // more commits than bytes
                                         std::pair(kHighest, kHighest),      // the highest number
                                         std::pair(kHighest - 2, kHighest),  //
                                         std::pair(std::uint64_t{1} << 63, std::uint64_t{1} << 63),
                                         std::pair(0, 0),    // commits are numbered from 1
                                         std::pair(3, 2)));  // an empty range

TEST_F(ReconstructTest, ASoundLogLosesNothing) {
  Commit(100, 5, true);
  Commit(200, 5);
  const auto found = Found();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->lossy());
  EXPECT_EQ(found->sequence, 10u);
  EXPECT_EQ(found->base_generation, 2u);
  EXPECT_THAT(found->misfits, IsEmpty());
  const auto state = found->draft.ToState();
  ASSERT_TRUE(state);
  EXPECT_TRUE(*state == MustOpen(*device_, kMetadataZones)->recovered());
}

TEST_F(ReconstructTest, ADamagedSnapshotIsReplacedByTheOlderGeneration) {
  Commit(100, 5, true);
  Commit(200, 5);
  Flip(FrameKind::kSnapshot, 0);
  const auto found = Found();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->lossy());
  EXPECT_EQ(found->base_generation, 1u);
  EXPECT_EQ(found->sequence, 10u);
}

TEST_F(ReconstructTest, ALogWithAllItsCommitsNeedsNoSnapshot) {
  Commit(100, 5);
  Flip(FrameKind::kSnapshot, 0);
  const auto found = Found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->base_generation, 0u);
  EXPECT_EQ(found->sequence, 5u);
  for (std::uint64_t id = 100; id < 105; ++id) EXPECT_TRUE(Has(*found, id));
}

TEST_F(ReconstructTest, WithoutAnotherBaseTheReadablePartIsUsed) {
  Commit(100, 5, true);
  Commit(200, 5);
  Flip(FrameKind::kSnapshot, 0);
  Drop(1);
  const auto found = Found();
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_TRUE(found->lossy());
  EXPECT_FALSE(Has(*found, 100));
  EXPECT_TRUE(Has(*found, 204));
}

TEST_F(ReconstructTest, ALostCommitIsNamedAndTheOthersAreApplied) {
  Commit(100, 8);
  Flip(FrameKind::kCommit, 3);
  const auto found = Found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sequence, 3u);
  ASSERT_EQ(found->lost.size(), 1u);
  EXPECT_EQ(found->lost.front().first, 4u);
  EXPECT_EQ(found->lost.front().last, 4u);
  EXPECT_EQ(found->applied_behind, 4u);
  EXPECT_FALSE(Has(*found, 103));
  EXPECT_TRUE(Has(*found, 107));
  EXPECT_THAT(ReconstructionText(*found), HasSubstr("commit 4 is lost"));
}

TEST_F(ReconstructTest, EmptyMetadataZonesAreAnError) {
  for (std::uint32_t i = 0; i < kMetadataZones; ++i) ZENFS_ASSERT_OK(device_->Reset(ZoneId(i)));
  const auto found = Found();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::kCorruption);
}

// A generation with a damaged SwitchComplete looks like an unfinished log switch. If a mount used the older generation, it
// would lose the commits of the newer one.
TEST_F(ReconstructTest, AMountRefusesAGenerationOlderThanKnownCommits) {
  Commit(100, 5, true);
  Commit(200, 5);
  Flip(FrameKind::kSwitchComplete, 0);
  const auto log = Metalog::Open(*device_, superblock_);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), Code::kCorruption);
  EXPECT_THAT(log.error().text(), HasSubstr("so it was complete"));
  const auto found = Found();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->lossy());
  EXPECT_EQ(found->sequence, 10u);
}

// --- ranges of commits ---

using Range = CoveredRanges::Range;

TEST(CoveredRangesTest, ReturnsWhatWasNotCovered) {
  CoveredRanges ranges;
  EXPECT_THAT(ranges.Add(5, 4), IsEmpty());
  EXPECT_THAT(ranges.Add(5, 5), ElementsAre(Range{5, 5}));
  EXPECT_THAT(ranges.Add(9, 12), ElementsAre(Range{9, 12}));
  EXPECT_THAT(ranges.Add(10, 11), IsEmpty());
  EXPECT_THAT(ranges.Add(3, 20), ElementsAre(Range{3, 4}, Range{6, 8}, Range{13, 20}));
  EXPECT_THAT(ranges.Add(3, 21), ElementsAre(Range{21, 21}));
  constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(ranges.Add(kHighest, kHighest), ElementsAre(Range{kHighest, kHighest}));
  EXPECT_THAT(ranges.Add(0, kHighest), ElementsAre(Range{0, 2}, Range{22, kHighest - 1}));
  EXPECT_THAT(ranges.Add(0, kHighest), IsEmpty());
}

TEST(CoveredRangesTest, WhatARangeOverlapsBecomesOne) {
  CoveredRanges ranges;
  for (std::uint64_t i = 0; i < 1000; ++i) ranges.Add(10 * i, 10 * i);
  EXPECT_EQ(ranges.size(), 1000u);
  EXPECT_EQ(ranges.Add(0, 9990).size(), 999u);
  EXPECT_EQ(ranges.size(), 1u);
}

TEST(CoveredRangesTest, EachNumberIsAddedOnce) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    CoveredRanges ranges;
    std::set<std::uint64_t> known;
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t first = random.Below(100);
      const std::uint64_t last = first + random.Below(20);
      std::set<std::uint64_t> added;
      for (const Range& range : ranges.Add(first, last)) {
        for (std::uint64_t n = range.first; n <= range.last; ++n) EXPECT_TRUE(added.insert(n).second);
      }
      for (std::uint64_t n = first; n <= last; ++n)
        EXPECT_EQ(added.erase(n), known.insert(n).second ? 1u : 0u);
      EXPECT_THAT(added, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace zenfs::reconstruct_test
