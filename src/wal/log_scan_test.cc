#include "wal/wal_recovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "device/read_or_zeros.h"
#include "testing/crash_device.h"
#include "testing/device_data.h"
#include "testing/read_counter.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

constexpr ZoneId kZone{2};
constexpr LogZone kAllocated{.zone = kZone, .generation = 11, .salt = 12345};
const Uuid kVolume = Uuid::Parse("01234567-89ab-4cde-8f01-23456789abcd").value();

EmulatorGeometry BigZones() { return TestGeometry(4, 1024); }  // 4 MiB each

// Writes adjacent frames to one zone.
class FrameWriter {
 public:
  explicit FrameWriter(ZonedDevice& device, const LogZone& seeded_as = kAllocated,
                       const Uuid& volume = kVolume)
      : device_(device), seed_(FrameSeed::Of(volume, seeded_as.zone, seeded_as.generation, seeded_as.salt)) {}

  void Write(std::uint64_t sequence, std::size_t payload, FrameKind kind = FrameKind::kLogData) {
    WriteText(sequence, TestText(payload, sequence), kind);
  }
  void WriteText(std::uint64_t sequence, const std::string& payload, FrameKind kind = FrameKind::kLogData) {
    const std::uint32_t header = kind == FrameKind::kPlainData ? kTestBlock : kFrameHeaderBytes;
    const FrameHeader frame{.kind = kind,
                            .header_bytes = header,
                            .payload_bytes = static_cast<std::uint32_t>(payload.size()),
                            .owner = 5,
                            .sequence = sequence,
                            .file_offset = sequence * 100,
                            .epoch = 3,
                            .stable_sequence = sequence - 1};
    AlignedBuffer buffer(header + payload.size());
    buffer.Resize(header);
    buffer.Append(AsBytes(payload));
    SealFrame(buffer.Span(), frame, seed_);
    buffer.PadTo(kTestBlock);
    Raw(buffer.View());
  }
  void Raw(ByteView bytes) {
    ASSERT_TRUE(device_.Write(device_.geometry().ZoneStart(kZone) + written_, bytes).ok());
    written_ += bytes.size();
  }
  std::uint64_t written() const { return written_; }

 private:
  ZonedDevice& device_;
  const FrameSeed seed_;
  std::uint64_t written_ = 0;
};

std::vector<ScannedFrame> Scan(ZonedDevice& device, const LogZone& as = kAllocated,
                               const Uuid& volume = kVolume) {
  std::vector<ScannedFrame> frames;
  ScanLogZone(device, volume, as, ReportOf(device, kZone),
              [&](const ScannedFrame& frame) { frames.push_back(frame); });
  return frames;
}

std::vector<std::uint64_t> Sequences(const std::vector<ScannedFrame>& frames) {
  std::vector<std::uint64_t> sequences;
  for (const ScannedFrame& frame : frames) sequences.push_back(frame.sequence);
  return sequences;
}

void ExpectPayload(ZonedDevice& device, const ScannedFrame& frame) {
  const std::uint64_t begin = RoundDown(frame.payload.value, kTestBlock);
  const auto block =
      ReadBack(device, DeviceOffset(begin), RoundUp(frame.payload.value - begin + frame.length, kTestBlock));
  ASSERT_TRUE(block);
  EXPECT_EQ(AsText(block->View(frame.payload.value - begin, frame.length)),
            TestText(frame.length, frame.sequence));
}

TEST(LogScanTest, FramesAcrossChunksOfReadingAreAllFound) {
  const auto device = CreateMemoryDevice(BigZones());
  FrameWriter writer(*device);
  std::vector<std::uint64_t> written;
  for (std::uint64_t sequence = 1; writer.written() + (260 << 10) < (4 << 20); ++sequence) {
    writer.Write(sequence, 1 + sequence * 31'337 % (250 << 10));
    written.push_back(sequence);
  }
  const std::vector<ScannedFrame> frames = Scan(*device);
  EXPECT_EQ(Sequences(frames), written);
  for (const ScannedFrame& frame : frames) {
    ExpectPayload(*device, frame);
    EXPECT_EQ(frame.owner, 5U);
    EXPECT_EQ(frame.epoch, 3U);
    EXPECT_EQ(frame.file_offset, frame.sequence * 100);
    EXPECT_EQ(frame.stable_sequence, frame.sequence - 1);
    EXPECT_EQ(frame.device_bytes, RoundUp(frame.length + kFrameHeaderBytes, kTestBlock));
    EXPECT_EQ(frame.zone, kZone);
  }
}

TEST(LogScanTest, FrameLongerThanAChunkIsFound) {
  const auto device = CreateMemoryDevice(BigZones());
  FrameWriter writer(*device);
  writer.Write(1, 500);
  writer.Write(2, (2 << 20) + 1234);
  writer.Write(3, 500);
  EXPECT_EQ(Sequences(Scan(*device)), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(LogScanTest, EmptyZoneHasNoFrames) {
  const auto device = CreateMemoryDevice(BigZones());
  EXPECT_TRUE(Scan(*device).empty());
}

TEST(LogScanTest, PlainDataIsPassedOver) {
  const auto device = CreateMemoryDevice(BigZones());
  FrameWriter writer(*device);
  writer.Write(1, 100);
  writer.Write(2, 64 << 10, FrameKind::kPlainData);
  writer.Write(3, 100);
  EXPECT_EQ(Sequences(Scan(*device)), (std::vector<std::uint64_t>{1, 3}));
}

TEST(LogScanTest, FrameInsideAPayloadIsNotFound) {
  const auto device = CreateMemoryDevice(BigZones());
  FrameWriter writer(*device);
  writer.Write(1, 100);
  // A plain file whose content is a copy of the frame.
  const auto copied = ReadBack(*device, device->geometry().ZoneStart(kZone), kTestBlock);
  AlignedBuffer outer(2 * kTestBlock);
  outer.Resize(kTestBlock);
  outer.Append(copied->View());
  SealFrame(outer.Span(),
            {.kind = FrameKind::kPlainData, .header_bytes = kTestBlock, .payload_bytes = kTestBlock},
            FrameSeed::Of(kVolume, kZone, kAllocated.generation, kAllocated.salt));
  writer.Raw(outer.View());
  EXPECT_EQ(Sequences(Scan(*device)), (std::vector<std::uint64_t>{1}));
}

// D15 of docs/internals/failures.md.
TEST(LogScanTest, TornAndForeignBlocksBetweenFramesArePassedOver) {
  const auto device = CreateMemoryDevice(BigZones());
  FrameWriter writer(*device);
  writer.Write(1, 100);
  writer.Raw(Pattern(3 * kTestBlock, 9).View());
  AlignedBuffer torn(kTestBlock);  // the header states more bytes than were written
  torn.Resize(kTestBlock);
  const FrameHeader header{.payload_bytes = 3 * kTestBlock, .owner = 5, .sequence = 2};
  std::memcpy(torn.data(), &header, sizeof header);
  writer.Raw(torn.View());
  writer.Write(3, 9000);
  EXPECT_EQ(Sequences(Scan(*device)), (std::vector<std::uint64_t>{1, 3}));
}

// All blocks are known zeros, but each 256th. Counts the bytes that are read.
class SparseDevice final : public ReadCounter {
 public:
  using ReadCounter::ReadCounter;

  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    const std::uint64_t block = from.value / kTestBlock;
    return block % 256 == 0 ? 0 : std::min(length, (256 - block % 256) * kTestBlock);
  }
};

TEST(LogScanTest, ZerosThatAreNotInTheDeviceAreNotReadWhoeverClaimsThem) {
  const auto device = CreateMemoryDevice(TestGeometry(4, 4096));  // 16 MiB each
  FrameWriter writer(*device);
  AlignedBuffer piece(256 * kTestBlock);
  piece.Resize(piece.capacity());
  std::ranges::fill(piece.Span(), std::byte{});
  for (std::uint32_t mib = 15; mib > 0; --mib) {
    const FrameHeader header{.payload_bytes = mib << 20, .owner = 5, .sequence = 2};
    std::memcpy(piece.data(), &header, sizeof header);
    writer.Raw(piece.View());
  }
  writer.Write(3, 100);
  SparseDevice sparse(*device);
  EXPECT_EQ(Sequences(Scan(sparse)), (std::vector<std::uint64_t>{3}));
  EXPECT_LE(sparse.bytes_read, 16 * 3 * kScanStepBytes);
}

// As on the copy of an image that leaves zeros out.
TEST(LogScanTest, FramesBehindOneWithZerosThatAreNotInTheDeviceAreFound) {
  for (const std::size_t zeros : {std::size_t{200} << 10, std::size_t{3} << 20}) {
    CrashDevice device(TestGeometry(4, 4096));
    device.ShowZeros();
    FrameWriter writer(device);
    writer.Write(1, 100);
    writer.WriteText(2, std::string(zeros, '\0'));
    for (std::uint64_t sequence = 3; sequence <= 8; ++sequence) writer.Write(sequence, 5000);
    EXPECT_EQ(Sequences(Scan(device)), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8})) << zeros;
  }
}

TEST(LogScanTest, HeaderThatClaimsTheFramesBehindItCostsOnlyItsFrame) {
  const auto device = CreateMemoryDevice(TestGeometry(4, 4096));
  FrameWriter writer(*device);
  AlignedBuffer damaged(kTestBlock);
  damaged.Resize(kTestBlock);
  std::ranges::fill(damaged.Span(), std::byte{1});
  const FrameHeader header{.payload_bytes = 2 << 20, .owner = 5, .sequence = 1};
  std::memcpy(damaged.data(), &header, sizeof header);
  writer.Raw(damaged.View());
  writer.Write(2, 1 << 20);
  writer.Write(3, 3 << 20);  // begins inside what is claimed and ends behind it
  writer.Write(4, 100);
  writer.Write(5, 100);
  EXPECT_EQ(Sequences(Scan(*device)), (std::vector<std::uint64_t>{2, 3, 4, 5}));
}

TEST(LogScanTest, UnreadableBlockCostsOnlyItsFrame) {
  FaultyDevice device(CreateMemoryDevice(BigZones()));
  FrameWriter writer(device);
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence)
    writer.Write(sequence, 2 * kTestBlock);                                     // 3 blocks each
  device.Inject({.command = FaultyDevice::Command::kRead, .kth = 1});           // the whole zone at once
  device.Inject({.command = FaultyDevice::Command::kRead, .kth = 1 + 3 + 1});   // first block of frame 2
  device.Inject({.command = FaultyDevice::Command::kRead, .kth = 1 + 12 + 2});  // second block of frame 5
  EXPECT_EQ(Sequences(Scan(device)), (std::vector<std::uint64_t>{1, 3, 4, 6}));
}

// A power loss may leave a block that was not flushed unreadable. If zeros stood for it, the frame would be valid, and its file
// could not be read.
TEST(LogScanTest, UnreadableBlockOfZerosCostsItsFrame) {
  FaultyDevice device(CreateMemoryDevice(BigZones()));
  FrameWriter writer(device);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence)
    writer.WriteText(sequence, std::string(2 * kTestBlock, '\0'));             // 3 blocks each
  device.Inject({.command = FaultyDevice::Command::kRead, .kth = 1});          // the whole zone at once
  device.Inject({.command = FaultyDevice::Command::kRead, .kth = 1 + 3 + 2});  // second block of frame 2
  EXPECT_EQ(Sequences(Scan(device)), (std::vector<std::uint64_t>{1, 3}));
}

TEST(LogScanTest, ZoneThatCannotBeReadAtAllHasNoFrames) {
  FaultyDevice device(CreateMemoryDevice(BigZones()));
  FrameWriter writer(device);
  writer.Write(1, 100);
  device.Inject({.command = FaultyDevice::Command::kRead, .times = 1'000'000});
  EXPECT_TRUE(Scan(device).empty());
}

TEST(LogScanTest, FramesOfAnotherAllocationAreNotAccepted) {
  const auto device = CreateMemoryDevice(BigZones());
  FrameWriter writer(*device);
  writer.Write(1, 100);
  LogZone other = kAllocated;
  other.generation += 1;
  EXPECT_TRUE(Scan(*device, other).empty()) << "an earlier incarnation of the zone";
  other = kAllocated;
  other.salt += 1;
  EXPECT_TRUE(Scan(*device, other).empty());
  EXPECT_TRUE(Scan(*device, kAllocated, Uuid::Generate()).empty()) << "another volume";
  EXPECT_EQ(Scan(*device).size(), 1U);
}

TEST(LogScanTest, FrameCopiedFromAnotherZoneIsNotAccepted) {
  const auto device = CreateMemoryDevice(BigZones());
  LogZone elsewhere = kAllocated;
  elsewhere.zone = ZoneId(1);
  FrameWriter writer(*device, elsewhere);
  writer.Write(1, 100);
  EXPECT_TRUE(Scan(*device).empty());
}

TEST(LogScanTest, WhateverALossOfPowerLeavesFlushedFramesAreFoundAndNoOthersInvented) {
  CrashDevice device(TestGeometry(4, 16));
  FrameWriter writer(device);
  writer.Write(1, 5000);
  ASSERT_TRUE(device.Flush().ok());
  writer.Write(2, 100);
  writer.Write(3, 5000);
  const CrashDevice::Images found = device.EnumerateImages(300);
  ASSERT_GT(found.images.size(), 10U);
  for (const auto& image : found.images) {
    const std::vector<ScannedFrame> frames = Scan(*image);
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.front().sequence, 1U);
    for (const ScannedFrame& frame : frames) {
      EXPECT_LE(frame.sequence, 3U);
      ExpectPayload(*image, frame);
    }
  }
}

}  // namespace
}  // namespace zenfs
