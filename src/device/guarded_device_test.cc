#include "device/guarded_device.h"

#include <gtest/gtest.h>

#include <functional>
#include <string_view>
#include <vector>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "base/sync_point.h"
#include "base/thread.h"
#include "device/flush_mark.h"
#include "device/joined_device.h"
#include "device/presence.h"
#include "testing/faulty_device.h"
#include "testing/sim_scheduler.h"

namespace zenfs::guarded_device_test {
namespace {

// The first flush waits until two other threads have joined, and fails. Later flushes succeed.
class SharedFlushTest : public testing::Test {
 protected:
  Status FlushDevice() {
    MutexLock lock(mutex_);
    EXPECT_FALSE(under_way_);
    under_way_ = true;
    const int number = ++flushes_;
    changed_.NotifyAll();
    while (number == 1 && asked_ < 3) changed_.Wait(mutex_);
    under_way_ = false;
    if (number == 1) return Fail(Code::kIo, "the cache is lost");
    return {};
  }

  void Asked(std::string_view point) {
    if (point != "SharedFlush::Run:joined") return;
    MutexLock lock(mutex_);
    ++asked_;
    changed_.NotifyAll();
  }
  void AwaitFirst() {
    MutexLock lock(mutex_);
    while (!under_way_) changed_.Wait(mutex_);
  }

  SharedFlush flush_{[this] { return FlushDevice(); }};
  SyncPoint::Scope points_{[this](std::string_view point) { Asked(point); }};
  Mutex mutex_;
  CondVar changed_;
  int flushes_ GUARDED_BY(mutex_) = 0;
  int asked_ GUARDED_BY(mutex_) = 0;
  bool under_way_ GUARDED_BY(mutex_) = false;
};

TEST_F(SharedFlushTest, CallersDuringAFailingFlushShareTheNextOne) {
  Status first;
  Status second;
  Status third;
  {
    std::vector<Thread> threads;
    threads.emplace_back("first", [&] { first = flush_.Run(); });
    AwaitFirst();
    threads.emplace_back("second", [&] { second = flush_.Run(); });
    threads.emplace_back("third", [&] { third = flush_.Run(); });
  }
  EXPECT_FALSE(first.ok());
  EXPECT_TRUE(second.ok());
  EXPECT_TRUE(third.ok());
  MutexLock lock(mutex_);
  EXPECT_EQ(flushes_, 2);
}

TEST_F(SharedFlushTest, CallsOneAfterTheOtherFlushEach) {
  {
    MutexLock lock(mutex_);
    asked_ = 2;
  }
  EXPECT_FALSE(flush_.Run().ok());
  EXPECT_TRUE(flush_.Run().ok());
  EXPECT_TRUE(flush_.Run().ok());
  MutexLock lock(mutex_);
  EXPECT_EQ(flushes_, 3);
}

using Command = FaultyDevice::Command;

class GuardedDeviceTest : public testing::Test {
 protected:
  GuardedDeviceTest() : faulty_(CreateMemoryDevice({.zones = 4, .zone_size = 1 << 20})) {
    block_ = faulty_.geometry().block_size;
    written_ = AlignedBuffer(2 * block_);
    written_.Append(AsBytes(std::string(2 * block_, 'x')));
    into_ = AlignedBuffer(2 * block_);
    into_.Resize(2 * block_);
    EXPECT_TRUE(guarded_->Write(place_, written_.View()).ok());
    EXPECT_TRUE(guarded_->Write(DeviceOffset(0), written_.View()).ok());
  }

  // Reads of the two blocks at `place_` fail. Others are served: the guard reads one of them after each failure.
  void FailReads(std::uint64_t times, Code code = Code::kIo) {
    faulty_.ClearFaults();
    faulty_.Inject({.command = Command::kRead,
                    .times = times,
                    .code = code,
                    .bytes = FaultyDevice::Bytes{place_, place_ + 2 * block_}});
  }
  void FailAllReads(Code code = Code::kIo) {
    faulty_.ClearFaults();
    faulty_.Inject({.command = Command::kRead, .times = FaultyDevice::kForEver, .code = code});
  }
  bool Read() { return guarded_->Read(place_, into_.Span()).ok(); }
  std::uint64_t Sent() const { return faulty_.count(Command::kRead); }
  std::uint64_t Repeated() const { return guarded_->errors().repeated_reads; }
  std::uint64_t Outages() const { return guarded_->errors().outages; }
  static void Simulated(const std::function<void()>& body) { SimScheduler({.seed = 1}).Run(body); }

  FaultyDevice faulty_;
  std::unique_ptr<ZonedDevice> guarded_ = GuardDevice(faulty_);
  std::uint32_t block_ = 0;
  const DeviceOffset place_{2 << 20};
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
  const std::uint64_t before = Sent();
  EXPECT_FALSE(Read());
  EXPECT_EQ(Repeated(), 2U);
  EXPECT_EQ(Sent(), before + 3 + 3) << "each is followed by a read of another block";
  EXPECT_EQ(Outages(), 0U) << "another block can be read";
}

TEST_F(GuardedDeviceTest, PermanentErrorsAreNotRepeated) {
  for (const Code code : {Code::kNotFound, Code::kReadOnly, Code::kInvalidArgument}) {
    const std::uint64_t before = Sent();
    FailReads(1, code);
    EXPECT_FALSE(Read()) << CodeName(code);
    EXPECT_LE(Sent(), before + 1 + 1) << CodeName(code);
  }
  EXPECT_EQ(Repeated(), 0U);
}

TEST_F(GuardedDeviceTest, ATimeoutIsRepeatedOnce) {
  FailReads(1, Code::kTimedOut);
  EXPECT_TRUE(Read()) << "the device was back before the block was asked for that can be read";
  FailReads(2, Code::kTimedOut);
  EXPECT_FALSE(Read());
}

TEST_F(GuardedDeviceTest, AReadOfAQueueThatWasGivenUpIsNotRepeated) {
  FailReads(FaultyDevice::kForEver);
  const auto queue = guarded_->CreateQueue(1);
  IoRequest request{.offset = place_, .read_into = into_.Span(), .given_up = true};
  const std::uint64_t before = Sent();
  queue->Submit(&request);
  std::vector<IoRequest*> done;
  queue->Reap(1, done);
  EXPECT_FALSE(request.status.ok());
  EXPECT_EQ(Sent(), before + 1);
}

TEST_F(GuardedDeviceTest, AfterManyBadBlocksReadsAreSentTwice) {
  FailReads(FaultyDevice::kForEver);
  constexpr std::uint64_t kReads = 100;
  for (std::uint64_t i = 0; i < kReads; ++i) EXPECT_FALSE(Read());
  EXPECT_EQ(Repeated(), kReads + kGiveUpAfter);
  faulty_.ClearFaults();
  EXPECT_TRUE(Read());
  FailReads(2);
  EXPECT_TRUE(Read()) << "after a success, reads are sent three times again";
}

TEST_F(GuardedDeviceTest, InvalidReadsAreNoBadBlocks) {
  FailReads(FaultyDevice::kForEver, Code::kInvalidArgument);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Read());
  FailReads(2);
  EXPECT_TRUE(Read()) << "sent three times";
}

TEST_F(GuardedDeviceTest, AnOutageIsWaitedFor) {
  for (const int milliseconds : {1, 30, 900}) {
    Simulated([&] {
      FailAllReads();
      Thread end("end", [&] {
        SleepUntil(SteadyNow() + std::chrono::milliseconds(milliseconds));
        faulty_.ClearFaults();
      });
      EXPECT_TRUE(Read()) << milliseconds;
      end.Join();
    });
  }
  EXPECT_TRUE(std::ranges::equal(into_.View(), written_.View()));
  EXPECT_EQ(Outages(), 0U);
}

TEST_F(GuardedDeviceTest, ALongOutageIsWaitedForOnceAndCounted) {
  const PresenceMark before = PresenceMark::Now(*guarded_);
  Simulated([&] {
    FailAllReads();
    const SteadyTime begin = SteadyNow();
    EXPECT_FALSE(Read());
    EXPECT_GE(SteadyNow() - begin, kOutageMax);
    EXPECT_LT(SteadyNow() - begin, 2 * kOutageMax);
    const std::uint64_t sent = Sent();
    EXPECT_FALSE(Read());
    EXPECT_EQ(Sent(), sent + 1);
    EXPECT_EQ(Outages(), 2U);
    EXPECT_FALSE(before.Check(*guarded_).ok());
    faulty_.ClearFaults();
    EXPECT_TRUE(Read());
    EXPECT_FALSE(before.Check(*guarded_).ok()) << "what was read during the outage is missing";
    EXPECT_TRUE(PresenceMark::Now(*guarded_).Check(*guarded_).ok());
    FailReads(1);
    EXPECT_TRUE(Read()) << "after a success, reads are repeated again";
  });
}

TEST_F(GuardedDeviceTest, ADeviceThatIsGoneIsCountedAndNotWaitedFor) {
  Simulated([&] {
    for (const Code code : {Code::kNotFound, Code::kTimedOut}) {
      const std::uint64_t outages = Outages();
      FailAllReads(code);
      const SteadyTime begin = SteadyNow();
      EXPECT_FALSE(Read());
      EXPECT_LT(SteadyNow() - begin, std::chrono::milliseconds(10));
      EXPECT_EQ(Outages(), outages + 1) << CodeName(code);
      faulty_.ClearFaults();
      EXPECT_TRUE(Read());
    }
  });
}

TEST_F(GuardedDeviceTest, ABlockInAZoneThatWasResetSinceIsNotTheOnlyOneAskedFor) {
  FailReads(1);
  EXPECT_TRUE(Read()) << "the block at 0 is known to be readable now";
  ASSERT_TRUE(guarded_->Write(DeviceOffset(1 << 20), written_.View()).ok());
  ASSERT_TRUE(guarded_->Reset(ZoneId(0)).ok());
  FailReads(FaultyDevice::kForEver);
  EXPECT_FALSE(Read());
  EXPECT_EQ(Outages(), 0U);
}

TEST_F(GuardedDeviceTest, TheOnlyBadBlockOfALogDeviceIsNoOutage) {
  auto logs = std::make_unique<FaultyDevice>(CreateMemoryDevice({.zones = 6, .zone_size = 1 << 20}));
  FaultyDevice& faulty_logs = *logs;
  ASSERT_TRUE(logs->Write(DeviceOffset(0), written_.View()).ok()) << "a zone that the joined device hides";
  auto joined =
      JoinDevices(CreateMemoryDevice({.zones = 4, .zone_size = 1 << 20}), std::move(logs), ZoneId(2));
  ASSERT_TRUE(joined);
  const auto guarded = GuardDevice(*std::move(joined));
  const DeviceOffset bad(4 << 20);  // the first block of the only log zone
  ASSERT_TRUE(guarded->Write(bad, written_.View()).ok());
  faulty_logs.Inject({.command = Command::kRead, .times = FaultyDevice::kForEver, .zone = ZoneId(2)});
  EXPECT_FALSE(guarded->Read(bad, into_.Span()).ok());
  EXPECT_EQ(guarded->errors().outages, 0U);
}

TEST_F(GuardedDeviceTest, TheBadFirstBlockOfTheOnlyZoneIsNoOutage) {
  ASSERT_TRUE(guarded_->Reset(ZoneId(0)).ok());
  faulty_.Inject({.command = Command::kRead,
                  .times = FaultyDevice::kForEver,
                  .bytes = FaultyDevice::Bytes{place_, place_ + block_}});
  EXPECT_FALSE(Read());
  EXPECT_EQ(Outages(), 0U);
}

TEST_F(GuardedDeviceTest, AnOutageOfOneOfTwoDevicesIsAnOutage) {
  Simulated([&] {
    auto logs = std::make_unique<FaultyDevice>(CreateMemoryDevice({.zones = 4, .zone_size = 1 << 20}));
    FaultyDevice& faulty_logs = *logs;
    auto joined =
        JoinDevices(CreateMemoryDevice({.zones = 4, .zone_size = 1 << 20}), std::move(logs), ZoneId(0));
    ASSERT_TRUE(joined);
    const auto guarded = GuardDevice(*std::move(joined));
    for (std::uint64_t zone = 0; zone < 8; ++zone) {
      ASSERT_TRUE(guarded->Write(DeviceOffset(zone << 20), written_.View()).ok());
      ASSERT_TRUE(guarded->Read(DeviceOffset(zone << 20), into_.Span()).ok());
    }
    faulty_logs.Inject({.command = Command::kRead, .times = FaultyDevice::kForEver});
    EXPECT_TRUE(guarded->Read(DeviceOffset(0), into_.Span()).ok());
    EXPECT_FALSE(guarded->Read(DeviceOffset(5 << 20), into_.Span()).ok());
    EXPECT_TRUE(guarded->Read(DeviceOffset(0), into_.Span()).ok());
    EXPECT_EQ(guarded->errors().outages, 1U);
  });
}

TEST_F(GuardedDeviceTest, ReportThatFailsOnceIsRepeated) {
  faulty_.Inject({.command = Command::kReport, .times = 1});
  EXPECT_TRUE(guarded_->Report(ZoneId(0), 1));
  faulty_.Inject({.command = Command::kReport, .times = FaultyDevice::kForEver});
  const std::uint64_t before = faulty_.count(Command::kReport);
  EXPECT_FALSE(guarded_->Report(ZoneId(0), 1));
  EXPECT_EQ(faulty_.count(Command::kReport), before + 3);
  EXPECT_EQ(Outages(), 0U) << "blocks can be read";
}

TEST_F(GuardedDeviceTest, ReadOfAQueueIsRepeatedWhenItIsReaped) {
  faulty_.Inject({.command = Command::kRead,
                  .times = 2,
                  .bytes = FaultyDevice::Bytes{DeviceOffset(block_), DeviceOffset(2 * block_)}});
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
  EXPECT_EQ(faulty_.count(Command::kWrite), 2U + 1U);
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
}  // namespace zenfs::guarded_device_test
