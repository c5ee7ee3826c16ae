#include "base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace zenfs {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Fail(Code::kInvalidArgument, "odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  ZENFS_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(Status, ErrorsPassThroughWithTheirCode) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(Quarter(7).error().text(), "odd");
}

TEST(Status, ContextPrecedesTheText) {
  const Error error = ErrnoError(ENOSPC, "write zone 3").With("emu:/x");
  EXPECT_EQ(error.code(), Code::kNoSpace);
  EXPECT_EQ(error.os_errno(), ENOSPC);
  EXPECT_THAT(error.ToString(), ::testing::StartsWith("emu:/x: write zone 3: "));
}

TEST(Status, AdviceFollowsTheCause) {
  const Error error = ErrnoError(ENOENT, "/x").Advise("make one").With("open").As(Code::kIo);
  EXPECT_EQ(error.ToString(), "open: /x: No such file or directory; make one");
  EXPECT_EQ(error.code(), Code::kIo);
  EXPECT_EQ(Error(Code::kBusy, "in use").Advise("end the other").ToString(), "in use; end the other");
}

TEST(Status, CommonErrnosHaveTheirCode) {
  EXPECT_EQ(ErrnoError(ENOENT, "").code(), Code::kNotFound);
  EXPECT_EQ(ErrnoError(EACCES, "").code(), Code::kPermission);
  EXPECT_EQ(ErrnoError(EIO, "").code(), Code::kIo);
}

}  // namespace
}  // namespace zenfs
