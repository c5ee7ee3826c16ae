#include "wal/wal_recovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/emulator/emulator.h"
#include "base/random.h"
#include "device/forwarding_device.h"
#include "testing/device_data.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

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

}  // namespace
}  // namespace zenfs
