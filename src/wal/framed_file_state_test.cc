#include "wal/framed_file.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

const Status kFailed = Fail(Code::kIo, "failed");

TEST(FramedFileStateTest, ErrorStaysUntilASendSucceeds) {
  FramedFileState state;
  const std::uint64_t before = state.failed_sends();
  state.BeginSend();
  state.FrameFailed();
  state.EndSend(kFailed);
  EXPECT_TRUE(state.free());
  EXPECT_FALSE(state.sound());
  EXPECT_TRUE(state.SendFailedSince(before)) << "for callers that waited";
  EXPECT_FALSE(state.SendFailedSince(state.failed_sends())) << "for later callers";
  state.BeginSend();
  EXPECT_FALSE(state.sound()) << "not before the send has ended";
  state.EndSend({});
  EXPECT_TRUE(state.sound());
  EXPECT_FALSE(state.SendFailedSince(before));
}

TEST(FramedFileStateTest, FramesThatAFlushMayHaveLostArePlacedAnewBeforeTheNextSend) {
  FramedFileState state;
  state.BeginSend();
  state.FlushFailed();
  state.EndSend(kFailed);
  EXPECT_TRUE(state.doubtful());
  state.BeginSend();
  state.EndSend(kFailed);
  EXPECT_TRUE(state.doubtful()) << "writing them again failed too";
  state.BeginSend();
  state.PlacedAnew();
  EXPECT_FALSE(state.doubtful());
  EXPECT_FALSE(state.sound());
  state.EndSend({});
  EXPECT_TRUE(state.sound());
}

TEST(FramedFileStateTest, CleaningRunsBesideASend) {
  FramedFileState state;
  state.BeginSend();
  state.BeginCleaning();
  state.EndSend({});
  EXPECT_TRUE(state.free());
  EXPECT_TRUE(state.cleaning());
  state.EndCleaning();
  state.BeginTruncation();
  EXPECT_TRUE(state.truncating());
  EXPECT_FALSE(state.free());
  state.EndTruncation();
  EXPECT_TRUE(state.free());
}

TEST(FramedFileStateTest, AppendsStayClosedForTheFirstReason) {
  FramedFileState state;
  state.CloseAppends({});
  EXPECT_TRUE(state.appends().ok());
  state.CloseAppends(Fail(Code::kUnknownOutcome, "first"));
  state.CloseAppends({});
  state.CloseAppends(kFailed);
  EXPECT_EQ(state.appends().error().code(), Code::kUnknownOutcome);
}

}  // namespace
}  // namespace zenfs
