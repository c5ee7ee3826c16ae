#include "cli/volume_poll.h"

#include <gtest/gtest.h>

#include <new>
#include <vector>

namespace zenfs {
namespace {

// A device that answers when the test lets it.
class Gate {
 public:
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  void Pass() {
    MutexLock lock(mutex_);
    while (!open_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ GUARDED_BY(mutex_) = false;
};

std::unique_ptr<VolumePoll> Poll(VolumePoll::Read read) {
  auto poll = VolumePoll::Start("emu:a", std::move(read));
  EXPECT_TRUE(poll.ok());
  return std::move(*poll);
}

TEST(VolumePollTest, EachScrapeGetsAReadingOfItsOwn) {
  int readings = 0;
  const auto poll =
      Poll([&] { return VolumeReading{.device = "emu:a", .label = std::to_string(++readings)}; });
  EXPECT_EQ(poll->End(poll->Begin(), Deadline::Never()).label, "1");
  EXPECT_EQ(poll->End(poll->Begin(), Deadline::Never()).label, "2");
}

TEST(VolumePollTest, AVolumeThatHangsIsReportedAtTheDeadlineAndReadAgainLater) {
  Gate gate;
  const auto poll = Poll([&] {
    gate.Pass();
    return VolumeReading{.device = "emu:a", .readable = true};
  });
  const std::uint64_t first = poll->Begin();
  const VolumeReading late = poll->End(first, Deadline::After(std::chrono::milliseconds(1)));
  EXPECT_FALSE(late.readable);
  ASSERT_TRUE(late.trouble.has_value());
  EXPECT_EQ(late.trouble->code(), Code::kTimedOut);
  EXPECT_EQ(late.trouble->text(), "emu:a: the volume could not be read within the time of a scrape");
  EXPECT_TRUE(poll->busy());
  EXPECT_EQ(poll->Begin(), first) << "the scrape joins the reading that hangs instead of adding a second one";
  gate.Open();
  EXPECT_TRUE(poll->End(first, Deadline::Never()).readable);
  EXPECT_FALSE(poll->busy());
}

TEST(VolumePollTest, ScrapesAtTheSameTimeShareAReading) {
  Gate gate;
  int readings = 0;
  const auto poll = Poll([&] {
    gate.Pass();
    return VolumeReading{.device = "emu:a", .label = std::to_string(++readings)};
  });
  std::vector<std::uint64_t> scrapes;
  for (int i = 0; i < 31; ++i) scrapes.push_back(poll->Begin());
  gate.Open();
  for (const std::uint64_t scrape : scrapes) EXPECT_EQ(poll->End(scrape, Deadline::Never()).label, "1");
}

TEST(VolumePollTest, OutOfMemoryIsAReasonAndTheNextScrapeReadsAgain) {
  bool full = true;
  const auto poll = Poll([&]() -> VolumeReading {
    if (full) throw std::bad_alloc();
    return {.device = "emu:a", .readable = true};
  });
  const VolumeReading none = poll->End(poll->Begin(), Deadline::Never());
  ASSERT_TRUE(none.trouble.has_value());
  EXPECT_EQ(none.trouble->code(), Code::kNoSpace);
  EXPECT_EQ(none.device, "emu:a");
  full = false;
  EXPECT_TRUE(poll->End(poll->Begin(), Deadline::Never()).readable);
}

}  // namespace
}  // namespace zenfs
