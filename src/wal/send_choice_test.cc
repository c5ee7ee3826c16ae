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

}  // namespace
}  // namespace zenfs
