#include "buffers/announced_zones.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "base/random.h"
#include "buffers/buffer_area_test_rig.h"

namespace zenfs {
namespace {

class AnnouncedZonesTest : public BufferAreaTest {
 protected:
  void SetUp() override {
    BufferAreaTest::SetUp();
    auto made = BufferArea::Create({.directory = directory_,
                                    .identity = "file:1:2",
                                    .volume = volume_,
                                    .epoch = 8,
                                    .buffer_bytes = kBufferBytes,
                                    .metrics_bytes = 100,
                                    .zones = kZones});
    ASSERT_TRUE(made) << made.error().ToString();
    writer_ = *std::move(made);
    whose_ = {writer_->place(), "file:1:2", volume_, 8, BootId(), writer_->PlaceEdit().key};
  }

  bool AllAreRead(const std::vector<ZoneId>& zones) const {
    return std::ranges::all_of(zones, [&](ZoneId zone) { return writer_->IsRead(zone); });
  }
  // Runs of adjacent zones that the writer sees: so many locks has the kernel.
  std::size_t Runs() const {
    std::size_t runs = 0;
    bool before = false;
    for (std::uint32_t zone = 0; zone < kZones; ++zone) {
      const bool now = writer_->IsRead(ZoneId(zone));
      runs += now && !before ? 1 : 0;
      before = now;
    }
    return runs;
  }
  // Each `step`th zone.
  static std::vector<ZoneId> Zones(std::uint32_t first, std::uint32_t end, std::uint32_t step) {
    std::vector<ZoneId> zones;
    for (; first < end; first += step) zones.emplace_back(first);
    return zones;
  }

  static constexpr std::uint32_t kZones = 10'000;
  std::shared_ptr<BufferArea> writer_;
  WhoseBuffers whose_;
};

TEST_F(AnnouncedZonesTest, TheWriterSeesThemWhileTheyAreHeld) {
  const auto reader = AnnouncedZones::Open(whose_);
  ASSERT_NE(reader, nullptr);
  auto one = reader->Announce({ZoneId(1999), ZoneId(3), ZoneId(3)});
  auto other = AnnouncedZones::Open(whose_)->Announce({ZoneId(3)});
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
  EXPECT_TRUE(writer_->IsRead(ZoneId(1999)));
  EXPECT_FALSE(writer_->IsRead(ZoneId(4)));
  one.reset();
  EXPECT_FALSE(writer_->IsRead(ZoneId(1999)));
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
  other.reset();
  EXPECT_FALSE(writer_->IsRead(ZoneId(3)));
}

TEST_F(AnnouncedZonesTest, TwoHoldsOfOneReaderAreIndependent) {
  const auto reader = AnnouncedZones::Open(whose_);
  auto one = reader->Announce({ZoneId(3)});
  auto other = reader->Announce({ZoneId(3)});
  one.reset();
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
}

TEST_F(AnnouncedZonesTest, AFileInManyZonesTakesABoundedNumberOfLocks) {
  const auto reader = AnnouncedZones::Open(whose_);
  const std::vector<ZoneId> zones = Zones(1, kZones, 3);
  auto file = reader->Announce(zones);
  EXPECT_TRUE(AllAreRead(zones));
  EXPECT_LE(Runs(), AnnouncedZones::kRunsMax);
  auto other = reader->Announce({ZoneId(9000)});
  file.reset();
  EXPECT_TRUE(writer_->IsRead(ZoneId(9000)));
  EXPECT_FALSE(writer_->IsRead(ZoneId(8900))) << "only neighbours of a zone that is used are announced";
  EXPECT_EQ(Runs(), 1U);
  other.reset();
  EXPECT_EQ(Runs(), 0U);
  const auto exact = reader->Announce({ZoneId(9000)});
  EXPECT_FALSE(writer_->IsRead(ZoneId(8999)) || writer_->IsRead(ZoneId(9001)));
}

TEST_F(AnnouncedZonesTest, ManyFilesTakeABoundedNumberOfLocksTogether) {
  const auto reader = AnnouncedZones::Open(whose_);
  std::vector<std::shared_ptr<const AnnouncedZones::Hold>> files;
  for (std::uint32_t i = 0; i < 8; ++i) files.push_back(reader->Announce(Zones(5 * i, kZones, 40)));
  EXPECT_LE(Runs(), AnnouncedZones::kRunsMax);
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(AllAreRead(Zones(5 * i, kZones, 40)));
    files[i].reset();
  }
  EXPECT_EQ(Runs(), 0U);
}

TEST_F(AnnouncedZonesTest, AClosedFileLeavesABoundedNumberOfLocksForTheGapsOfAnother) {
  const auto reader = AnnouncedZones::Open(whose_);
  auto all = reader->Announce(Zones(0, kZones, 1));
  EXPECT_EQ(Runs(), 1U);
  const std::vector<ZoneId> zones = Zones(0, kZones, 3);
  auto some = reader->Announce(zones);
  EXPECT_EQ(Runs(), 1U);
  all.reset();
  EXPECT_TRUE(AllAreRead(zones));
  EXPECT_LE(Runs(), AnnouncedZones::kRunsMax);
  some.reset();
  EXPECT_EQ(Runs(), 0U);
}

// Announcements and withdrawals at random, with and without larger units, against a count of each zone.
TEST_F(AnnouncedZonesTest, WhatIsHeldIsAnnouncedAfterAnyChange) {
  const auto reader = AnnouncedZones::Open(whose_);
  Random random(1);
  std::vector<std::pair<std::vector<ZoneId>, std::shared_ptr<const AnnouncedZones::Hold>>> files;
  for (int i = 0; i < 25; ++i) {
    if (!files.empty() && random.OneIn(2)) {
      files.erase(files.begin() + static_cast<std::ptrdiff_t>(random.Below(files.size())));
    } else {
      const auto first = static_cast<std::uint32_t>(random.Below(kZones));
      const auto end = first + static_cast<std::uint32_t>(random.Below(kZones - first)) + 1;
      const std::vector<ZoneId> zones = Zones(first, end, 1 + static_cast<std::uint32_t>(random.Below(4)));
      files.emplace_back(zones, reader->Announce(zones));
    }
    for (const auto& [zones, hold] : files) ASSERT_TRUE(AllAreRead(zones)) << i;
    ASSERT_LE(Runs(), AnnouncedZones::kRunsMax) << i;
  }
  files.clear();
  EXPECT_EQ(Runs(), 0U);
}

TEST_F(AnnouncedZonesTest, AResetOfAnyOfThemIsNoticed) {
  const auto hold = AnnouncedZones::Open(whose_)->Announce({ZoneId(3), ZoneId(1999)});
  EXPECT_TRUE(hold->NoneWasReset());
  writer_->NoteReset(ZoneId(4));
  EXPECT_TRUE(hold->NoneWasReset());
  writer_->NoteReset(ZoneId(1999));
  EXPECT_FALSE(hold->NoneWasReset());
  EXPECT_TRUE(AnnouncedZones::Open(whose_)->Announce({ZoneId(1999)})->NoneWasReset());
}

TEST_F(AnnouncedZonesTest, NothingIsProvenOnceTheWriterIsGone) {
  const auto hold = AnnouncedZones::Open(whose_)->Announce({ZoneId(3)});
  writer_.reset();
  EXPECT_FALSE(hold->NoneWasReset());
  EXPECT_EQ(AnnouncedZones::Open(whose_), nullptr);
  // The next mount takes the file over and locks it, which makes it no maker.
  const auto taken = OpenOrphanedBuffers(whose_);
  ASSERT_TRUE(taken);
  EXPECT_FALSE(hold->NoneWasReset());
}

TEST_F(AnnouncedZonesTest, ThoseOfADeadReaderAreGone) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto hold = AnnouncedZones::Open(whose_)->Announce({ZoneId(3)});
    while (::write(ready[1], "r", 1) == 1) ::pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(writer_->IsRead(ZoneId(3)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(writer_->IsRead(ZoneId(3)));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(AnnouncedZonesTest, FilesOfOthersAndOfOtherMountsDoNotCount) {
  WhoseBuffers other = whose_;
  other.key[0] ^= 1;
  EXPECT_EQ(AnnouncedZones::Open(other), nullptr);
  other = whose_;
  other.identity = "file:1:3";  // a copy of the device
  EXPECT_EQ(AnnouncedZones::Open(other), nullptr);
  other = whose_;
  other.boot = "another";
  EXPECT_EQ(AnnouncedZones::Open(other), nullptr);
  EXPECT_EQ(AnnouncedZones::Open(Whose()), nullptr) << "this one counts no resets";
}

}  // namespace
}  // namespace zenfs
