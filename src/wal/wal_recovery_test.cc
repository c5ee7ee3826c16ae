#include "wal/wal_recovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "backends/emulator/emulator.h"
#include "base/random.h"
#include "device/forwarding_device.h"
#include "device/read_or_zeros.h"
#include "format/frame.h"
#include "testing/crash_device.h"
#include "testing/device_data.h"
#include "testing/read_counter.h"
#include "wal/wal_test_rig.h"

namespace zenfs::wal_recovery_test {
namespace {

constexpr ZoneId kZone{2};
constexpr LogZone kAllocated{.zone = kZone, .generation = 11, .salt = 12345};
const Uuid kVolume = Uuid::Parse("01234567-89ab-4cde-8f01-23456789abcd").value();

EmulatorGeometry BigZones() { return TestGeometry(4, 1024); }  // 4 MiB each

// Writes adjacent frames to one zone.
class ZoneWriter {
 public:
  explicit ZoneWriter(ZonedDevice& device, const LogZone& seeded_as = kAllocated,
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
  ZoneWriter writer(*device);
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
  ZoneWriter writer(*device);
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
  ZoneWriter writer(*device);
  writer.Write(1, 100);
  writer.Write(2, 64 << 10, FrameKind::kPlainData);
  writer.Write(3, 100);
  EXPECT_EQ(Sequences(Scan(*device)), (std::vector<std::uint64_t>{1, 3}));
}

TEST(LogScanTest, FrameInsideAPayloadIsNotFound) {
  const auto device = CreateMemoryDevice(BigZones());
  ZoneWriter writer(*device);
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
  ZoneWriter writer(*device);
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
  ZoneWriter writer(*device);
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
    ZoneWriter writer(device);
    writer.Write(1, 100);
    writer.WriteText(2, std::string(zeros, '\0'));
    for (std::uint64_t sequence = 3; sequence <= 8; ++sequence) writer.Write(sequence, 5000);
    EXPECT_EQ(Sequences(Scan(device)), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8})) << zeros;
  }
}

TEST(LogScanTest, HeaderThatClaimsTheFramesBehindItCostsOnlyItsFrame) {
  const auto device = CreateMemoryDevice(TestGeometry(4, 4096));
  ZoneWriter writer(*device);
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
  ZoneWriter writer(device);
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
  ZoneWriter writer(device);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence)
    writer.WriteText(sequence, std::string(2 * kTestBlock, '\0'));             // 3 blocks each
  device.Inject({.command = FaultyDevice::Command::kRead, .kth = 1});          // the whole zone at once
  device.Inject({.command = FaultyDevice::Command::kRead, .kth = 1 + 3 + 2});  // second block of frame 2
  EXPECT_EQ(Sequences(Scan(device)), (std::vector<std::uint64_t>{1, 3}));
}

TEST(LogScanTest, ZoneThatCannotBeReadAtAllHasNoFrames) {
  FaultyDevice device(CreateMemoryDevice(BigZones()));
  ZoneWriter writer(device);
  writer.Write(1, 100);
  device.Inject({.command = FaultyDevice::Command::kRead, .times = 1'000'000});
  EXPECT_TRUE(Scan(device).empty());
}

TEST(LogScanTest, FramesOfAnotherAllocationAreNotAccepted) {
  const auto device = CreateMemoryDevice(BigZones());
  ZoneWriter writer(*device);
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
  ZoneWriter writer(*device, elsewhere);
  writer.Write(1, 100);
  EXPECT_TRUE(Scan(*device).empty());
}

TEST(LogScanTest, WhateverALossOfPowerLeavesFlushedFramesAreFoundAndNoOthersInvented) {
  CrashDevice device(TestGeometry(4, 16));
  ZoneWriter writer(device);
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

constexpr ZoneId kScannedZone{1};
constexpr std::uint64_t kWindowBytes = (7 << 20) + 3 * kTestBlock;

// Passes reads on; chosen blocks are unreadable. Notes the most commands that were in flight.
class ReadsOfAScan final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  std::set<std::uint64_t> bad;  // device offsets of blocks
  std::size_t most_in_flight = 0;

  Status Read(DeviceOffset offset, ByteSpan into) override {
    const auto it = bad.lower_bound(offset.value);
    if (it != bad.end() && *it < offset.value + into.size()) return Fail(Code::kIo, "unreadable");
    return inner().Read(offset, into);
  }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t) override { return std::make_unique<Queue>(*this); }

 private:
  class Queue final : public IoQueue {
   public:
    explicit Queue(ReadsOfAScan& device) : device_(device) {}
    void Submit(IoRequest* request) override {
      waiting_.push_back(request);
      device_.most_in_flight = std::max(device_.most_in_flight, waiting_.size());
    }
    // The last one that was submitted completes first.
    void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
      for (; min_count > 0 && !waiting_.empty(); --min_count) {
        IoRequest* request = waiting_.back();
        waiting_.pop_back();
        request->status = device_.Read(request->offset, request->read_into);
        done.push_back(request);
      }
    }
    std::size_t in_flight() const override { return waiting_.size(); }

   private:
    ReadsOfAScan& device_;
    std::vector<IoRequest*> waiting_;
  };
};

class ZoneWindowTest : public ::testing::Test {
 protected:
  ZoneWindowTest()
      : memory_(CreateMemoryDevice(TestGeometry(3, 2048))),  // zones of 8 MiB
        device_(*memory_),
        start_(memory_->geometry().ZoneStart(kScannedZone)),
        expected_(Pattern(kWindowBytes, 7)) {
    EXPECT_TRUE(memory_->Write(start_, expected_.View()).ok());
  }
  void MakeUnreadable(std::uint64_t at) {
    device_.bad.insert(start_.value + at);
    const ByteSpan block = expected_.Span().subspan(at, kTestBlock);
    Random(start_.value + at).Fill(block);
  }
  // Walks from `from` to the end in steps of 1 to `most` blocks and compares what was asked for.
  void ExpectAllFrom(std::uint64_t from, std::uint64_t most) {
    Random random(from + most);
    ZoneWindow window(device_, start_, from, kWindowBytes);
    for (std::uint64_t at = from; at < kWindowBytes;) {
      const std::uint64_t needed = (1 + random.Below(most)) * kTestBlock;
      const ByteView shown = window.From(at, needed);
      ASSERT_GE(shown.size(), std::min(needed, kWindowBytes - at));
      const std::uint64_t asked = std::min(needed, kWindowBytes - at);
      ASSERT_TRUE(std::ranges::equal(shown.first(asked), expected_.View(at, asked))) << at;
      at += (1 + random.Below(needed / kTestBlock)) * kTestBlock;
    }
  }

  std::unique_ptr<EmulatorDevice> memory_;
  ReadsOfAScan device_;
  const DeviceOffset start_;
  AlignedBuffer expected_;
};

TEST_F(ZoneWindowTest, ShowsEveryByteWhateverIsAskedFor) {
  ExpectAllFrom(0, 1);
  ExpectAllFrom(0, 100);
  ExpectAllFrom(0, 900);  // more than three pieces at a time
  ExpectAllFrom(5 * kTestBlock, 300);
  ExpectAllFrom(kWindowBytes - kTestBlock, 1);
}

// A frame may be known as valid before the window has it.
TEST_F(ZoneWindowTest, ShowsWhatIsFarBehindAllThatWasShown) {
  for (const std::uint64_t step :
       {std::uint64_t{300} << 10, std::uint64_t{2} << 20, std::uint64_t{6} << 20}) {
    ZoneWindow window(device_, start_, 0, kWindowBytes);
    for (std::uint64_t at = 0; at < kWindowBytes; at += step) {
      const ByteView shown = window.From(at, kTestBlock);
      ASSERT_GE(shown.size(), std::uint64_t{kTestBlock});
      ASSERT_TRUE(std::ranges::equal(shown.first(kTestBlock), expected_.View(at, kTestBlock)))
          << at << " by " << step;
    }
  }
}

TEST_F(ZoneWindowTest, ShowsNothingBehindTheEndOfAZoneThatIsGone) {
  ZoneWindow window(device_, start_, 0, kWindowBytes);
  ASSERT_TRUE(memory_->SetCondition(kScannedZone, ZoneCondition::kOffline).ok());
  for (std::uint64_t at = 1 << 20; at < kWindowBytes; at += 3 << 20) window.From(at, kTestBlock);
  EXPECT_TRUE(window.From(kWindowBytes - kTestBlock, kTestBlock).empty());
  EXPECT_LT(window.end(), kWindowBytes);
}

TEST_F(ZoneWindowTest, UnreadableBlocksAreRandomAndTheirNeighboursAreNot) {
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{1} << 20,
                                 (std::uint64_t{3} << 20) - kTestBlock, kWindowBytes - kTestBlock}) {
    MakeUnreadable(at);
  }
  ExpectAllFrom(0, 1);
  ExpectAllFrom(0, 600);
  ExpectAllFrom(kWindowBytes - kTestBlock, 1);
}

// An image may have a million log zones that are full of nothing.
TEST_F(ZoneWindowTest, OneBlockOfAZoneOfZerosIsRead) {
  constexpr ZoneId kOther{2};
  ASSERT_TRUE(memory_->Finish(kOther).ok());
  const std::uint64_t before = memory_->meter().of(EmulatorCommand::kRead).bytes;
  ZoneWindow window(*memory_, memory_->geometry().ZoneStart(kOther), 0, kWindowBytes);
  EXPECT_EQ(window.From(0, kTestBlock).size(), kTestBlock);
  EXPECT_EQ(memory_->meter().of(EmulatorCommand::kRead).bytes - before, kTestBlock);
  EXPECT_GE(window.From(kTestBlock, kWindowBytes).size(), kWindowBytes - kTestBlock);
}

TEST_F(ZoneWindowTest, ReadsSeveralPiecesAhead) {
  ZoneWindow window(device_, start_, 0, kWindowBytes);
  const std::size_t first = window.From(0, kTestBlock).size();
  EXPECT_EQ(device_.most_in_flight, 1U) << "until the caller goes on";
  window.From(first, kTestBlock);
  EXPECT_EQ(device_.most_in_flight, 4U);
}

TEST_F(ZoneWindowTest, OnePieceNeedsNoQueue) {
  ExpectAllFrom(kWindowBytes - 3 * kTestBlock, 2);
  EXPECT_EQ(device_.most_in_flight, 0U);
}

constexpr std::uint64_t kEpoch = 7;

// Adjacent frames of 10 bytes: frame `sequence` has the bytes [(sequence - 1) * 10, sequence * 10).
ScannedFrame Frame(std::uint64_t sequence, std::uint64_t stable = 0, std::uint64_t epoch = kEpoch) {
  return {.owner = 5,
          .epoch = epoch,
          .sequence = sequence,
          .file_offset = (sequence - 1) * 10,
          .stable_sequence = stable,
          .length = 10,
          .payload = DeviceOffset(1'000'000 * epoch + sequence * 4096 + 64),
          .device_bytes = 4096,
          .zone = ZoneId(3)};
}

FileRecord Record(std::vector<LogWindow> windows = {}, std::uint64_t next_sequence = 1) {
  FileRecord record{.id = FileId(5), .shape = FileShape::kFramed};
  record.windows = std::move(windows);
  record.next_sequence = next_sequence;
  record.size = record.windows.empty() ? 0 : record.windows.back().end;
  return record;
}

// The sequences of the pieces in file order, and "lost FROM-TO" for damage.
std::string Shape(const ReplayedLog& log) {
  std::string shape;
  std::uint64_t at = 0;
  for (const Piece& piece : log.index.pieces()) {
    EXPECT_EQ(piece.file_offset, at) << "the pieces leave a gap";
    at = piece.end();
    if (!shape.empty()) shape += ' ';
    if (piece.damaged) {
      shape += "lost:" + std::to_string(piece.file_offset) + "-" + std::to_string(piece.end());
    } else if (piece.sequence == 0) {
      shape += "extent:" + std::to_string(piece.end());
    } else {
      shape += std::to_string(piece.sequence);
    }
  }
  return shape;
}

TEST(LogReplayTest, FramesWithoutAGapAreTheOpenWindow) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(3), Frame(1), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2 3");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 3, 30}));
  EXPECT_EQ(log.zones.at(ZoneId(3)), 3 * 4096U);
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, FileWithoutFramesHasNoOpenWindow) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {});
  EXPECT_EQ(log.index.end(), 0U);
  EXPECT_FALSE(log.open_window);
}

TEST(LogReplayTest, GapEndsTheOpenWindow) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), Frame(4), Frame(5)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 2, 20}));
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, GapBelowWhatWasStableLosesExactlyItsBytes) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(3, 0), Frame(4, 3)});
  EXPECT_EQ(Shape(log), "1 lost:10-20 3 4");
  ASSERT_EQ(log.damage.size(), 1U);
  EXPECT_EQ(DamageText(log.damage[0], "file 7 (/a.log)"),
            "file 7 (/a.log): bytes 10 to 20 are lost: frame 2 of its log is missing or unreadable");
  EXPECT_TRUE(log.damage[0].near.has_value());
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 4, 40}));
}

TEST(LogReplayTest, LostStableFrameBeforeAnUnstableOneLosesOnlyItself) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), Frame(4, 3)});
  EXPECT_EQ(Shape(log), "1 2 lost:20-30 4");
}

TEST(LogReplayTest, GapBehindWhatWasStableIsNoDamage) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), Frame(4, 2), Frame(5, 2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, MissingFrameOfASealedWindowLosesOnlyItsBytes) {
  const FileRecord record = Record({{4, 1, 4, 40}}, 5);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1, 0, 4), Frame(2, 0, 4), Frame(4, 0, 4)});
  EXPECT_EQ(Shape(log), "1 2 lost:20-30 4");
  EXPECT_EQ(log.damage.size(), 1U);
  EXPECT_FALSE(log.open_window);
}

TEST(LogReplayTest, MissingEndOfASealedWindowIsLostAndWhatFollowsIsThere) {
  const FileRecord record = Record({{4, 1, 2, 20}}, 3);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1, 0, 4), Frame(3), Frame(4)});
  EXPECT_EQ(Shape(log), "1 lost:10-20 3 4");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 3, 4, 40}));
}

TEST(LogReplayTest, SealedWindowWithoutAnyFrameIsLostAsAWhole) {
  const ReplayedLog log = ReplayLog(Record({{4, 1, 3, 30}}, 4), kEpoch, {});
  EXPECT_EQ(Shape(log), "lost:0-30");
}

TEST(LogReplayTest, FramesOfAnOlderEpochBeyondItsSealStayDead) {
  // Frames 2 and 3 of epoch 6 were behind a gap; epoch 7 wrote frame 2 again.
  const FileRecord record = Record({{6, 1, 1, 10}}, 2);
  const ReplayedLog log =
      ReplayLog(record, kEpoch, {Frame(1, 0, 6), Frame(2, 0, 6), Frame(3, 0, 6), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_EQ(log.index[1].place, Frame(2).payload);
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 2, 2, 20}));
}

TEST(LogReplayTest, StaleFrameDoesNotVouchForOthers) {
  // The stable_sequence of an older epoch says nothing about this one.
  const FileRecord record = Record({{6, 1, 1, 10}}, 2);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1, 0, 6), Frame(9, 8, 6), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, FramesBelowNextSequenceOfTheSameEpochAreDead) {
  // This epoch truncated the file to 10 bytes; its next frame is 4.
  const FileRecord record = Record({{kEpoch, 1, 1, 10}}, 4);
  ScannedFrame fourth = Frame(4, 3);
  fourth.file_offset = 10;
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2), Frame(3), fourth});
  EXPECT_EQ(Shape(log), "1 4");
  EXPECT_EQ(log.index.end(), 20U);
  EXPECT_TRUE(log.damage.empty());
}

// Found by fuzzing: the seal of such a file was refused, so every mount failed.
TEST(LogReplayTest, FrameThatVouchesForItselfIsPassedOver) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2, UINT64_MAX)});
  EXPECT_EQ(Shape(log), "1");
  ASSERT_TRUE(log.open_window);
  EXPECT_EQ(log.open_window->last_sequence, 1u);
}

TEST(LogReplayTest, LastNumberOfAllIsPassedOver) {
  ScannedFrame last = Frame(1);
  last.sequence = UINT64_MAX;
  const ReplayedLog log = ReplayLog(Record({}, UINT64_MAX), kEpoch, {last});
  EXPECT_EQ(Shape(log), "");
  EXPECT_FALSE(log.open_window);
}

TEST(LogReplayTest, FrameWrittenTwiceCountsOnce) {
  ScannedFrame again = Frame(2);
  again.payload = DeviceOffset(99 * 4096 + 64);
  again.zone = ZoneId(4);
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), again, Frame(3)});
  EXPECT_EQ(Shape(log), "1 2 3");
  std::uint64_t bytes = 0;
  for (const auto& [zone, live] : log.zones) bytes += live;
  EXPECT_EQ(bytes, 3 * 4096U);
}

TEST(LogReplayTest, RepeatedFrameThatWasSplitAgreesWithTheWhole) {
  // Frame 2 is unsplit in one zone, where its write was reported as failed. Then it was split into 2 and 3;
  // 4 follows.
  ScannedFrame first = Frame(2);
  first.length = 4;
  ScannedFrame second = Frame(3);
  second.file_offset = 14;
  second.length = 6;
  ScannedFrame next = Frame(4);
  next.file_offset = 20;
  for (const bool whole : {true, false}) {
    std::vector<ScannedFrame> frames = {Frame(1), first, second, next};
    if (whole) frames.push_back(Frame(2));
    const ReplayedLog log = ReplayLog(Record(), kEpoch, frames);
    EXPECT_EQ(Shape(log), whole ? "1 2 4" : "1 2 3 4");
    EXPECT_EQ(log.index.end(), 30U);
    EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 4, 30}));
  }
}

// The device lost frame 1 of 3. A mount wrote all bytes again from shared memory, as two frames. The second
// has the sequence of an old frame, and ends earlier than that one.
TEST(LogReplayTest, OfFramesWithOneSequenceTheOneThatReachesFarthestIsTaken) {
  ScannedFrame first = Frame(1);
  first.length = 25;
  ScannedFrame second = Frame(2);
  second.file_offset = 25;
  second.length = 5;
  const std::vector<ScannedFrame> frames = {Frame(2), Frame(3), first, second};
  const ReplayedLog open = ReplayLog(Record(), kEpoch, frames);
  EXPECT_EQ(open.index.end(), 30U);
  const ReplayedLog sealed = ReplayLog(Record({{kEpoch, 1, 2, 30}}, 3), kEpoch + 1, frames);
  EXPECT_EQ(Shape(sealed), "1 2");
  EXPECT_EQ(sealed.index.end(), 30U);
  EXPECT_TRUE(sealed.damage.empty());
}

// A repair ignores such a frame, so a check must not report it as damage. Found by the fuzz target repair.
TEST(LogReplayTest, AFrameWithANumberThatNoWriterComesToProvesNoGap) {
  ScannedFrame frame = Frame(2, /*stable=*/1);
  frame.sequence = kCredibleEnd;
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {frame});
  EXPECT_EQ(log.index.end(), 0U);
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, PartThatIsMissingBesideTheWholeIsNoDamage) {
  const FileRecord record = Record({{kEpoch, 1, 3, 20}}, 4);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, WindowCutByTruncationEndsInMidFrame) {
  const FileRecord record = Record({{kEpoch, 1, 2, 13}}, 4);
  ScannedFrame fourth = Frame(4);
  fourth.file_offset = 13;
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2), Frame(3), fourth});
  EXPECT_EQ(Shape(log), "1 2 4");
  EXPECT_EQ(log.index[1].length, 3U);
  EXPECT_EQ(log.index.end(), 23U);
}

TEST(LogReplayTest, WindowWhoseFirstPartWasCleanedBeginsBehindTheExtents) {
  FileRecord record = Record({{4, 3, 4, 40}}, 5);
  record.extents = {{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 20}};
  const ReplayedLog log =
      ReplayLog(record, kEpoch, {Frame(1, 0, 4), Frame(2, 0, 4), Frame(3, 0, 4), Frame(4, 0, 4), Frame(5)});
  EXPECT_EQ(Shape(log), "extent:20 3 4 5");
  EXPECT_EQ(log.zones.at(ZoneId(3)), 3 * 4096U);
}

TEST(LogReplayTest, OpenWindowWhoseFirstPartWasCleanedBeginsBehindTheExtents) {
  FileRecord record = Record({}, 3);
  record.extents = {{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 20}};
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2), Frame(3, 2)});
  EXPECT_EQ(Shape(log), "extent:20 3");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 3, 3, 30}));
  EXPECT_TRUE(log.damage.empty());
}

// Metadata may claim them without a frame: 17 bytes each, and a mount must not take hours for it.
TEST(LogReplayTest, AMillionLostWindowsTakeATimeInProportion) {
  constexpr std::uint64_t kWindows = 1'000'000;
  std::vector<LogWindow> windows;
  for (std::uint64_t i = 1; i <= kWindows; ++i) windows.push_back({1, i, i, i});
  const ReplayedLog log =
      ReplayLog(Record(std::move(windows), kWindows + 1), kEpoch, {Frame(kWindows, 0, 2)});
  EXPECT_EQ(log.damage.size(), kWindows);
  EXPECT_EQ(log.damage.back().near, Frame(kWindows, 0, 2).payload);
}

}  // namespace
}  // namespace zenfs::wal_recovery_test
