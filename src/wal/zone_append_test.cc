#include "wal/zone_append.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

using std::chrono::microseconds;

// A load of frames that met others, on a drive with fixed times.
class SendChoiceTest : public testing::Test {
 protected:
  // Returns how many of `frames` were sent by append.
  std::uint32_t Send(std::uint32_t frames) {
    std::uint32_t appends = 0;
    for (std::uint32_t i = 0; i < frames; ++i) {
      choice_.NoteArrival(true);
      const bool by_append = choice_.appends();
      if (by_append) ++appends;
      EXPECT_TRUE(choice_.measures());
      choice_.NoteTime(by_append ? append_ : write_, by_append);
    }
    return appends;
  }
  void SendAlone(std::uint32_t frames) {
    for (std::uint32_t i = 0; i < frames; ++i) choice_.NoteArrival(false);
  }

  SendChoice choice_{WalSending::kAuto, true};
  microseconds write_{500};
  microseconds append_{300};
};

constexpr std::uint32_t kTrial = SendChoice::kSettling + SendChoice::kRound;
constexpr std::uint32_t kUntilTrial = SendChoice::kRound * SendChoice::kRoundsBetweenTrialsMin;

TEST_F(SendChoiceTest, BeginsWithWritesAndTakesAppendsIfATrialOfThemIsFaster) {
  EXPECT_EQ(Send(kUntilTrial), 0u);
  EXPECT_EQ(choice_.state().append, microseconds(0)) << "not tried yet";
  EXPECT_EQ(Send(kTrial), kTrial);
  EXPECT_TRUE(choice_.state().appends);
  EXPECT_EQ(choice_.state().write, write_);
  EXPECT_EQ(choice_.state().append, append_);
  EXPECT_EQ(choice_.state().changes, 1u);
  EXPECT_EQ(Send(1000), 1000u - kTrial) << "with a trial of writes that changes nothing";
}

TEST_F(SendChoiceTest, GoesBackWhenTheLoadChanges) {
  Send(kUntilTrial + kTrial);
  ASSERT_TRUE(choice_.state().appends);
  append_ = microseconds(700);
  Send(kUntilTrial + kTrial);
  EXPECT_FALSE(choice_.state().appends);
  EXPECT_EQ(choice_.state().changes, 2u);
}

TEST_F(SendChoiceTest, KeepsWhatItHasForALittleGain) {
  append_ = microseconds(460);  // 8 % faster
  Send(100'000);
  EXPECT_FALSE(choice_.state().appends);
  EXPECT_EQ(choice_.state().changes, 0u);
}

TEST_F(SendChoiceTest, TrialsThatChangeNothingGetRare) {
  append_ = microseconds(900);
  Send(200'000);  // all doublings are over
  const std::uint32_t period =
      SendChoice::kSettling + SendChoice::kRoundsBetweenTrialsMax * SendChoice::kRound + kTrial;
  EXPECT_EQ(Send(10 * period), 10 * kTrial);
  EXPECT_LT(100 * kTrial, 2 * period) << "below 2 % of the frames";
}

TEST_F(SendChoiceTest, OneSlowFrameDoesNotDecide) {
  Send(kUntilTrial + SendChoice::kSettling);
  for (std::uint32_t i = 0; i < SendChoice::kSlowest; ++i) {
    choice_.NoteArrival(true);
    choice_.NoteTime(std::chrono::seconds(1), true);
  }
  Send(SendChoice::kRound - SendChoice::kSlowest);
  EXPECT_TRUE(choice_.state().appends);
}

TEST_F(SendChoiceTest, FramesThatMeetNoOtherGoByWritesAndReadNoClock) {
  Send(kUntilTrial + kTrial);
  ASSERT_TRUE(choice_.appends());
  SendAlone(SendChoice::kAloneMax - 1);
  EXPECT_TRUE(choice_.appends());
  SendAlone(1);
  EXPECT_FALSE(choice_.appends());
  EXPECT_FALSE(choice_.measures());
  EXPECT_FALSE(choice_.state().appends);
  EXPECT_EQ(choice_.state().changes, 2u);
}

TEST_F(SendChoiceTest, NoTrialOfAppendsGoesOnForFramesThatMeetNoOther) {
  Send(kUntilTrial + 1);
  ASSERT_TRUE(choice_.appends());
  SendAlone(SendChoice::kAloneMax);
  EXPECT_FALSE(choice_.appends());
  EXPECT_EQ(choice_.state().changes, 0u);
}

TEST_F(SendChoiceTest, FramesThatWereSentBeforeAChangeDoNotCountForTheNewWay) {
  Send(kUntilTrial);
  ASSERT_TRUE(choice_.appends());
  for (int i = 0; i < 500; ++i) choice_.NoteTime(microseconds(1), false);
  Send(kTrial);
  EXPECT_EQ(choice_.state().append, append_);
}

TEST(SendChoiceOptionTest, OnlyAutoIsMeasuredAndOnlyIfTheDeviceHasAppends) {
  for (const WalSending way : {WalSending::kWrite, WalSending::kBlocking}) {
    SendChoice choice(way, true);
    choice.NoteArrival(true);
    EXPECT_FALSE(choice.appends());
    EXPECT_FALSE(choice.measures());
  }
  SendChoice no_appends(WalSending::kAuto, false);
  no_appends.NoteArrival(true);
  EXPECT_FALSE(no_appends.measures());
  SendChoice always(WalSending::kAppend, true);
  for (std::uint32_t i = 0; i < 2 * SendChoice::kAloneMax; ++i) always.NoteArrival(false);
  EXPECT_TRUE(always.appends());
  EXPECT_TRUE(always.state().appends);
}

constexpr std::uint64_t kBlock = 4096;

DeviceOffset Block(std::uint64_t number) { return DeviceOffset(number * kBlock); }

class AppendPlacesTest : public testing::Test {
 protected:
  AppendPlacesTest() { places_.Restart(Block(10)); }
  bool Take(std::uint64_t block, std::uint64_t blocks = 1) {
    return places_.Take(Block(block), blocks * kBlock, Block(20));
  }

  AppendPlaces places_;
};

TEST_F(AppendPlacesTest, EveryOrderOfCompletionsIsNormal) {
  for (const std::uint64_t block : {13, 11, 10, 12, 15, 14}) EXPECT_TRUE(Take(block)) << block;
  EXPECT_TRUE(Take(16, 4));
}

TEST_F(AppendPlacesTest, NoByteIsTakenTwice) {
  ASSERT_TRUE(Take(12, 2));
  EXPECT_FALSE(Take(12));
  EXPECT_FALSE(Take(13));
  EXPECT_FALSE(Take(11, 2));
  EXPECT_FALSE(Take(10, 5));
  ASSERT_TRUE(Take(10, 2));
  for (std::uint64_t block = 10; block < 14; ++block) EXPECT_FALSE(Take(block)) << block;
  EXPECT_TRUE(Take(14));
}

TEST_F(AppendPlacesTest, NoPlaceIsOutsideOfTheReservedRoom) {
  EXPECT_FALSE(Take(9));
  EXPECT_FALSE(Take(9, 2));
  EXPECT_FALSE(Take(20));
  EXPECT_FALSE(Take(19, 2));
  EXPECT_TRUE(Take(19));
  EXPECT_TRUE(Take(10));
}

TEST_F(AppendPlacesTest, ANewStartForgetsWhatWasTaken) {
  ASSERT_TRUE(Take(12));
  places_.Restart(Block(12));
  EXPECT_TRUE(Take(12));
  EXPECT_FALSE(Take(11));
}

}  // namespace
}  // namespace zenfs
