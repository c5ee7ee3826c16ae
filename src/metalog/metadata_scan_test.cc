#include "metalog/metadata_scan.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "metalog/metalog_test_util.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"

namespace zenfs::metadata_scan_test {
namespace {

constexpr std::uint32_t kMetadataZones = 3;
constexpr std::uint32_t kBlock = 512;

EmulatorGeometry GeometryOf(std::uint64_t zone_bytes) {
  EmulatorGeometry geometry = SmallGeometry(zone_bytes, 8);
  geometry.zone_capacity = zone_bytes;
  geometry.block_size = kBlock;
  return geometry;
}

// Blocks for a metadata zone, each a frame with a valid checksum, or bytes that are no frame.
class Blocks {
 public:
  Blocks(std::size_t count, const Superblock& superblock, ZoneId zone)
      : bytes_(count * kBlock), superblock_(superblock), zone_(zone) {}

  void AddNoFrame() { std::ranges::fill(Next(), std::byte{0xee}); }
  void AddFrame(FrameHeader header, std::uint64_t salt, std::string_view payload) {
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    const ByteSpan block = Next();
    std::memset(block.data(), 0, kBlock);
    std::memcpy(block.data() + kFrameHeaderBytes, payload.data(), payload.size());
    SealFrame(block, header, FrameSeed::Of(superblock_.seed, zone_, header.file_offset, salt));
  }
  [[nodiscard]] Status Write(ZonedDevice& device) {
    const auto info = device.ReportZone(zone_);
    return info ? device.Write(info->write_pointer, bytes_.View()) : Status(Fail(info.error()));
  }

 private:
  ByteSpan Next() {
    const std::size_t at = bytes_.size();
    bytes_.Resize(at + kBlock);
    return bytes_.Span().subspan(at);
  }

  AlignedBuffer bytes_;
  const Superblock& superblock_;
  const ZoneId zone_;
};

// An image may claim a generation in each block. Each one more would be another search for frames in all zones without a header.
TEST(MetadataScanTest, AZoneWithoutAHeaderHoldsOneGenerationAndTheNewestCounts) {
  const auto device = CreateMemoryDevice(GeometryOf(1 << 20));
  ZENFS_ASSERT_OK(Formatted(*device, kMetadataZones));
  const Superblock superblock = SuperblockFor(device->geometry(), kMetadataZones);
  const auto replayed = Replay(*device, superblock);
  ASSERT_TRUE(replayed) << replayed.error().ToString();
  ASSERT_EQ(std::ranges::count(replayed->chain, ZoneId(2)), 0);
  ZENFS_ASSERT_OK(device->Reset(ZoneId(2)));
  const std::uint64_t front = MetazoneLayout(kBlock).frames_at / kBlock;
  Blocks blocks(front + 100, superblock, ZoneId(2));
  for (std::uint64_t i = 0; i < front; ++i) blocks.AddNoFrame();
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t generation = 10 + i % 50;
    const SwitchComplete complete{.salt = 1000 + i, .frames = i, .sequence = 1, .chain_index = 0};
    blocks.AddFrame(
        {.kind = FrameKind::kSwitchComplete, .sequence = 1, .file_offset = generation, .epoch = i},
        complete.salt, EncodeSwitchComplete(complete));
  }
  ZENFS_ASSERT_OK(blocks.Write(*device));
  const auto scan = ScanMetadata(*device, superblock);
  ASSERT_TRUE(scan) << scan.error().ToString();
  ASSERT_EQ(scan->generations.size(), 2u);
  EXPECT_EQ(scan->HighestGeneration(), 59u);
  EXPECT_EQ(scan->generations.back().salt, 1049u);
}

// Each second block of both zones of a pair, but never the same one. To compare each flaw with each other takes ten billion steps.
TEST(MetadataScanTest, AHundredThousandFlawsOfAPairTakeATimeInProportion) {
  constexpr std::size_t kFlaws = 50'000;  // of each zone
  const auto device = CreateMemoryDevice(GeometryOf(64 << 20));
  Superblock superblock = SuperblockFor(device->geometry(), kMetadataZones);
  superblock.incompatible |= kTwoMetadataCopies;
  ZENFS_ASSERT_OK(Metalog::Format(*device, superblock, InitialEdits()));
  const auto replayed = Replay(*device, superblock);
  ASSERT_TRUE(replayed) << replayed.error().ToString();
  ASSERT_EQ(replayed->chain.size(), 2u);
  for (std::size_t copy = 0; copy < 2; ++copy) {
    Blocks blocks(2 * kFlaws, superblock, replayed->chain[copy]);
    for (std::uint64_t i = 0; i < 2 * kFlaws; ++i) {
      if (i % 2 == copy) {
        blocks.AddNoFrame();
        continue;
      }
      blocks.AddFrame({.kind = FrameKind::kCommit,
                       .sequence = 1 + i,
                       .file_offset = replayed->generation,
                       .epoch = replayed->frames + i,
                       .stable_sequence = 1 + i},
                      replayed->salt, "xx");
    }
    ZENFS_ASSERT_OK(blocks.Write(*device));
  }
  const auto scan = ScanMetadata(*device, superblock);
  ASSERT_TRUE(scan) << scan.error().ToString();
  ASSERT_EQ(scan->flaws.size(), 2 * kFlaws);
  for (const MetadataFlaw& flaw : scan->flaws) {
    ASSERT_EQ(flaw.whole_in, flaw.zone == replayed->chain[0] ? replayed->chain[1] : replayed->chain[0])
        << FlawText(flaw);
  }
}

}  // namespace
}  // namespace zenfs::metadata_scan_test
