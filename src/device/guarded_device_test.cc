#include "device/guarded_device.h"

#include <gtest/gtest.h>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "device/flush_mark.h"
#include "testing/faulty_device.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

class GuardedDeviceTest : public testing::Test {
 protected:
  GuardedDeviceTest() : faulty_(CreateMemoryDevice({.zones = 4, .zone_size = 1 << 20})) {
    block_ = faulty_.geometry().block_size;
    written_ = AlignedBuffer(2 * block_);
    written_.Append(AsBytes(std::string(2 * block_, 'x')));
    into_ = AlignedBuffer(2 * block_);
    into_.Resize(2 * block_);
    EXPECT_TRUE(guarded_->Write(DeviceOffset(0), written_.View()).ok());
  }

  void FailReads(std::uint64_t times, Code code = Code::kIo) {
    faulty_.ClearFaults();
    faulty_.Inject({.command = Command::kRead, .times = times, .code = code});
  }
  bool Read() { return guarded_->Read(DeviceOffset(0), into_.Span()).ok(); }
  std::uint64_t Sent() const { return faulty_.count(Command::kRead); }
  std::uint64_t Repeated() const { return guarded_->errors().repeated_reads; }

  FaultyDevice faulty_;
  std::unique_ptr<ZonedDevice> guarded_ = GuardDevice(faulty_);
  std::uint32_t block_ = 0;
  AlignedBuffer written_, into_;
};

TEST_F(GuardedDeviceTest, ReadThatFailsTwiceSucceedsAndIsCounted) {
  FailReads(2);
  EXPECT_TRUE(Read());
  EXPECT_TRUE(std::ranges::equal(into_.View(), written_.View()));
  EXPECT_EQ(Repeated(), 2U);
}

TEST_F(GuardedDeviceTest, ReadThatKeepsFailingIsSentThreeTimes) {
  FailReads(FaultyDevice::kForEver);
  EXPECT_FALSE(Read());
  EXPECT_EQ(Sent(), 3U);
}

TEST_F(GuardedDeviceTest, PermanentErrorsAreNotRepeated) {
  for (const Code code : {Code::kNotFound, Code::kReadOnly, Code::kInvalidArgument, Code::kTimedOut}) {
    const std::uint64_t before = Sent();
    FailReads(1, code);
    EXPECT_FALSE(Read()) << CodeName(code);
    EXPECT_EQ(Sent(), before + 1) << CodeName(code);
  }
}

TEST_F(GuardedDeviceTest, AfterManyFailuresReadsAreSentOnce) {
  FailReads(FaultyDevice::kForEver);
  constexpr std::uint64_t kReads = 100;
  for (std::uint64_t i = 0; i < kReads; ++i) EXPECT_FALSE(Read());
  EXPECT_EQ(Sent(), kReads + 2 * kGiveUpAfter);
  faulty_.ClearFaults();
  EXPECT_TRUE(Read());
  FailReads(1);
  EXPECT_TRUE(Read()) << "after a success, reads are repeated again";
}

TEST_F(GuardedDeviceTest, ReportThatFailsOnceIsRepeated) {
  faulty_.Inject({.command = Command::kReport, .times = 1});
  EXPECT_TRUE(guarded_->Report(ZoneId(0), 1));
  faulty_.Inject({.command = Command::kReport, .times = FaultyDevice::kForEver});
  const std::uint64_t before = faulty_.count(Command::kReport);
  EXPECT_FALSE(guarded_->Report(ZoneId(0), 1));
  EXPECT_EQ(faulty_.count(Command::kReport), before + 3);
}

TEST_F(GuardedDeviceTest, ReadOfAQueueIsRepeatedWhenItIsReaped) {
  faulty_.Inject({.command = Command::kRead, .kth = 2, .times = 2});
  const auto queue = guarded_->CreateQueue(2);
  std::vector<IoRequest> requests(2);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].offset = DeviceOffset(i * block_);
    requests[i].read_into = into_.Span().subspan(i * block_, block_);
    queue->Submit(&requests[i]);
  }
  std::vector<IoRequest*> done;
  queue->Reap(2, done);
  ASSERT_EQ(done.size(), 2U);
  for (const IoRequest& request : requests) EXPECT_TRUE(request.status.ok());
  EXPECT_TRUE(std::ranges::equal(into_.View(), written_.View()));
  EXPECT_EQ(Repeated(), 2U);
}

TEST_F(GuardedDeviceTest, WriteIsNeverRepeated) {
  faulty_.Inject({.command = Command::kWrite});
  EXPECT_FALSE(guarded_->Write(DeviceOffset(2 * block_), written_.View()).ok());
  EXPECT_EQ(faulty_.count(Command::kWrite), 2U);
}

TEST_F(GuardedDeviceTest, FlushThatFailedIsRememberedAndNotRepeated) {
  EXPECT_TRUE(guarded_->Flush().ok());
  EXPECT_EQ(guarded_->errors().failed_flushes, 0U);
  faulty_.Inject({.command = Command::kFlush});
  EXPECT_FALSE(guarded_->Flush().ok());
  EXPECT_EQ(faulty_.count(Command::kFlush), 2U);
  EXPECT_TRUE(guarded_->Flush().ok());
  EXPECT_EQ(guarded_->errors().failed_flushes, 1U);
}

TEST_F(GuardedDeviceTest, MarkRemembersAFailedFlushAcrossFlushesThatSucceed) {
  const FlushMark before = FlushMark::Now(*guarded_);
  EXPECT_TRUE(guarded_->Flush().ok());
  EXPECT_FALSE(before.FlushFailedSince(*guarded_));
  faulty_.Inject({.command = Command::kFlush});
  EXPECT_FALSE(guarded_->Flush().ok());
  const FlushMark after = FlushMark::Now(*guarded_);
  EXPECT_TRUE(guarded_->Flush().ok());
  EXPECT_TRUE(before.FlushFailedSince(*guarded_));
  EXPECT_TRUE(FlushMark::AtOpen().FlushFailedSince(*guarded_));
  EXPECT_FALSE(after.FlushFailedSince(*guarded_));
}

}  // namespace
}  // namespace zenfs
