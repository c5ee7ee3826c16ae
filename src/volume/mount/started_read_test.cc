// Reads that were started and end later, on a device that reads as late as it may: when somebody waits.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <deque>

#include "base/thread.h"
#include "device/forwarding_device.h"
#include "file/extent_reader.h"
#include "testing/empty_zone.h"
#include "testing/immediate_queue.h"
#include "testing/random_bytes.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class LateDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  std::unique_ptr<IoQueue> CreateQueue(std::size_t) override {
    ++queues;
    return std::make_unique<LateQueue>(inner(), reads);
  }

  Status Reset(ZoneId zone) override {
    ++resets;
    return inner().Reset(zone);
  }

  std::atomic<int> queues = 0;
  std::atomic<int> resets = 0;
  std::atomic<int> reads = 0;  // by queues

 private:
  class LateQueue final : public IoQueue {
   public:
    LateQueue(ZonedDevice& device, std::atomic<int>& reads) : device_(device), reads_(reads) {}
    ~LateQueue() override { std::ignore = Wait(waiting_.size()); }
    void Submit(IoRequest* request) override { waiting_.push_back(request); }
    void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
      const std::vector<IoRequest*> ended = Wait(std::min(min_count, waiting_.size()));
      done.insert(done.end(), ended.begin(), ended.end());
    }
    std::size_t in_flight() const override { return waiting_.size(); }

   private:
    std::vector<IoRequest*> Wait(std::size_t count) {
      std::vector<IoRequest*> ended;
      for (; ended.size() < count; waiting_.pop_front()) {
        if (waiting_.front()->kind == IoRequest::Kind::kRead) ++reads_;  // a checkpoint may write meanwhile
        CarryOut(device_, *waiting_.front());
        ended.push_back(waiting_.front());
      }
      return ended;
    }

    ZonedDevice& device_;
    std::atomic<int>& reads_;
    std::deque<IoRequest*> waiting_;
  };
};

class StartedReadTest : public VolumeTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    auto late = std::make_unique<LateDevice>(*device_);
    late_ = late.get();
    auto mounted = Volume::Mount(std::move(late), {});
    ASSERT_TRUE(IsOk(mounted));
    volume_ = *std::move(mounted);
    Put("a.sst", text_);
    found_.assign(text_.size() + 100, '?');
  }
  std::unique_ptr<FileHandle> Open(const std::string& path) { return *volume_->OpenForRead(path); }
  std::unique_ptr<PendingRead> Start(const FileHandle& file, std::uint64_t offset = 0) {
    return file.StartRead(offset, std::as_writable_bytes(std::span(found_)), ReadSource::kDevice);
  }
  std::string Found(Result<std::size_t> read) {
    return read ? found_.substr(0, *read) : read.error().ToString();
  }

  const std::string text_ = RandomBytes(200'000, 1);
  std::string found_;
  LateDevice* late_ = nullptr;
};

TEST_F(StartedReadTest, EndsWithTheBytesOfTheFile) {
  EXPECT_TRUE(volume_->StartsReads());
  const auto file = Open("a.sst");
  const auto read = Start(*file);
  EXPECT_EQ(found_, std::string(found_.size(), '?')) << "read before anybody waited";
  EXPECT_EQ(Found(read->Finish()), text_);
  EXPECT_EQ(Found(Start(*file, 199'990)->Finish()), text_.substr(199'990));
  EXPECT_EQ(Found(Start(*file, 200'001)->Finish()), "");
}

TEST_F(StartedReadTest, TheDeviceIsAskedOnceWhetherItReadsMeanwhile) {
  EXPECT_TRUE(volume_->StartsReads());
  const auto file = Open("a.sst");
  const auto read = Start(*file);  // with the queue that was asked
  const int queues = late_->queues;
  EXPECT_TRUE(volume_->StartsReads());
  EXPECT_EQ(late_->queues, queues);
  EXPECT_EQ(Found(read->Finish()), text_);
}

TEST_F(StartedReadTest, TheFileMayBeClosedDeletedAndItsZonesReused) {
  auto file = Open("a.sst");
  const auto read = Start(*file);
  file.reset();
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  for (int i = 0; late_->resets < 3 * static_cast<int>(SmallGeometry().zones); ++i) {
    ASSERT_LT(i, 5'000);
    Put("other.sst", RandomBytes(400'000, i));
  }
  EXPECT_EQ(Found(read->Finish()), text_);
}

// A caller may let a read stand for as long as it likes.
TEST_F(StartedReadTest, ItPinsNoZoneAndFindsTheFileWhereItWasMovedTo) {
  const auto file = Open("a.sst");
  const auto zone_of_a = [&] {
    return volume_->info().geometry.ZoneOf(volume_->Layout("a.sst")->extents.front().place);
  };
  const ZoneId zone = zone_of_a();
  for (int i = 0; volume_->Zones()[zone.value].phase != ZonePhase::kFull; ++i) {
    ASSERT_LT(i, 100);
    Put(std::to_string(i) + ".sst", RandomBytes(100'000, i));
  }
  const auto read = Start(*file);
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  ASSERT_NE(zone_of_a(), zone);
  for (int i = 0; volume_->Zones()[zone.value].phase != ZonePhase::kEmpty; ++i) {
    ASSERT_LT(i, 1'000) << "the read pins the zone";
    SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  }
  EXPECT_EQ(Found(read->Finish()), text_);
}

// Each that stands has a queue, which takes a descriptor on a kernel's device.
TEST_F(StartedReadTest, ManyThatStandDoNotTakeAllDescriptors) {
  const auto file = Open("a.sst");
  std::vector<std::unique_ptr<PendingRead>> reads;
  for (std::size_t i = 0; i < ReadPool::kLentMax; ++i) reads.push_back(Start(*file));
  EXPECT_EQ(found_, std::string(found_.size(), '?'));
  reads.push_back(Start(*file));
  EXPECT_EQ(found_.substr(0, text_.size()), text_) << "one more does not stand, it is carried out";
  for (const auto& read : reads) EXPECT_EQ(Found(read->Finish()), text_);
}

TEST_F(StartedReadTest, OneThatIsGivenUpDoesNotWaitAndWritesNothing) {
  const auto file = Open("a.sst");
  const int before = late_->reads;
  for (std::size_t i = 0; i < ReadPool::kGivenUpMax; ++i) Start(*file).reset();
  EXPECT_EQ(late_->reads, before) << "waited for the device";
  Start(*file).reset();
  EXPECT_EQ(late_->reads, before + 1) << "the oldest must end before there are more";
  EXPECT_EQ(found_, std::string(found_.size(), '?'));
  EXPECT_EQ(Found(Start(*file)->Finish()), text_);
}

// RocksDB's iterators of the child give their reads up.
TEST_F(StartedReadTest, AForkedChildNeitherWaitsForItNorTakesItsCompletion) {
  const auto file = Open("a.sst");
  auto read = Start(*file);
  auto given_up = Start(*file);
  const int before = late_->reads;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a call that blocks kills the child, and fails the test
    const bool refused = CodeOf(read->Finish()) == Code::kShutdown;
    read.reset();
    given_up.reset();
    ::_exit(refused && late_->reads == before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(Found(read->Finish()), text_);
}

TEST_F(StartedReadTest, AnUnmountWaitsForIt) {
  const auto file = Open("a.sst");
  auto read = Start(*file);
  std::atomic<bool> unmounted = false;
  Thread unmount("unmount", [&] {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    unmounted = true;
  });
  while (volume_->Stat("a.sst").ok()) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  EXPECT_FALSE(unmounted);
  EXPECT_EQ(Found(read->Finish()), text_);
  EXPECT_FALSE(unmounted);
  read.reset();
  unmount.Join();
  EXPECT_EQ(CodeOf(Start(*file)->Finish()), Code::kShutdown);
}

TEST_F(StartedReadTest, BufferedBytesAndThoseOfTheDeviceComeTogether) {
  auto file = *volume_->Create("b.sst");
  const std::string text = RandomBytes(1'500'000, 2);
  ASSERT_TRUE(IsOk(file->Append(AsBytes(text))));
  found_.assign(text.size(), '?');
  EXPECT_EQ(Found(Start(*file)->Finish()), text);
}

TEST_F(StartedReadTest, ManyReadsUseTheQueuesAndBatchesThatAreKept) {
  const auto file = Open("a.sst");
  const int before = late_->queues;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Found(Start(*file)->Finish()), text_);
  for (int i = 0; i < 100; ++i) {
    const ByteSpan bytes = std::as_writable_bytes(std::span(found_));
    ReadRequest requests[] = {{0, bytes.first(100), {}}, {100'000, bytes.subspan(100, 100), {}}};
    file->ReadMany(requests);
    ASSERT_TRUE(IsOk(requests[0].status) && IsOk(requests[1].status));
    ASSERT_EQ(found_.substr(0, 200), text_.substr(0, 100) + text_.substr(100'000, 100));
  }
  EXPECT_EQ(late_->queues, before + 1);
}

}  // namespace
}  // namespace zenfs
