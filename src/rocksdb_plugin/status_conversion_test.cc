#include "rocksdb_plugin/status_conversion.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>

namespace zenfs {
namespace {

IOStatus Convert(Code code, int os_errno = 0) {
  return ToIOStatus(Error(code, "zone 7 says no", os_errno), "reading", "/db/000012.sst");
}

TEST(StatusConversion, SuccessIsOk) { EXPECT_TRUE(ToIOStatus(Status(), "reading", "x").ok()); }

TEST(StatusConversion, TextNamesActionPathAndReason) {
  EXPECT_EQ(Convert(Code::kIo, EIO).ToString(),
            "IO error: While reading /db/000012.sst: zone 7 says no: Input/output error");
}

TEST(StatusConversion, NamesAndReasonsOfADeviceAreOnePrintableLine) {
  const std::string hostile = "a\n2026/11/28 forged\x1b[2J\xc2\x9b\xff";
  const std::string shown = "a\\x0a2026/11/28 forged\\x1b[2J\\xc2\\x9b\\xff";
  const Error error(Code::kIo, hostile);
  const std::string line = "IO error: While reading " + shown + ": " + shown;
  EXPECT_EQ(ToIOStatus(error, "reading", hostile).ToString(), line);
  EXPECT_EQ(ToWriteStatus(error, "reading", hostile).ToString(), line);
  EXPECT_EQ(ToIOStatusOrNotFound(Error(Code::kNotFound, hostile), "reading", hostile).ToString(),
            "NotFound: While reading " + shown + ": " + shown);
  EXPECT_EQ(ExceptionStatus(hostile.c_str()).ToString(),
            "IO error: zenfs: an operation was abandoned: " + shown);
  EXPECT_EQ(WhileDoing("opening", hostile), "While opening " + shown);
}

TEST(StatusConversion, MissingFileIsPathNotFoundAsOnPosix) {
  const IOStatus status = Convert(Code::kNotFound);
  EXPECT_TRUE(status.IsPathNotFound());
  EXPECT_TRUE(status.IsIOError());
  EXPECT_FALSE(status.GetRetryable());
}

TEST(StatusConversion, QuestionsForExistenceAreAnsweredNotFound) {
  for (Code code : {Code::kNotFound, Code::kNotADirectory}) {
    EXPECT_TRUE(ToIOStatusOrNotFound(Error(code, "t"), "listing", "/x").IsNotFound());
  }
  EXPECT_TRUE(ToIOStatusOrNotFound(Error(Code::kIo, "t"), "listing", "/x").IsIOError());
}

TEST(StatusConversion, FullDeviceIsNoSpaceAndWorthRetrying) {
  const IOStatus status = Convert(Code::kNoSpace);
  EXPECT_TRUE(status.IsNoSpace());
  EXPECT_TRUE(status.GetRetryable());
  EXPECT_FALSE(status.GetDataLoss());
}

TEST(StatusConversion, CorruptionIsLossOfDataOfOneFile) {
  const IOStatus status = Convert(Code::kCorruption);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_TRUE(status.GetDataLoss());
  EXPECT_EQ(status.GetScope(), IOStatus::kIOErrorScopeFile);
}

TEST(StatusConversion, EveryCodeIsAnErrorWithItsText) {
  for (int code = 0; code <= static_cast<int>(Code::kUnknownOutcome); ++code) {
    const IOStatus status = Convert(static_cast<Code>(code));
    EXPECT_FALSE(status.ok()) << code;
    EXPECT_NE(status.ToString().find("zone 7 says no"), std::string::npos) << code;
  }
}

TEST(StatusConversion, OnlyWaitsThatMayEndByThemselvesAreRetryable) {
  EXPECT_TRUE(Convert(Code::kTimedOut).GetRetryable());
  EXPECT_TRUE(Convert(Code::kBusy).GetRetryable());
  EXPECT_FALSE(Convert(Code::kReadOnly).GetRetryable());
  EXPECT_FALSE(Convert(Code::kUnknownOutcome).GetRetryable());
  EXPECT_FALSE(Convert(Code::kIo).GetRetryable());
}

TEST(StatusConversion, WriteThatFailedOnTheDeviceIsWorthRetryingElsewhere) {
  const auto convert = [](Code code) { return ToWriteStatus(Error(code, "t"), "syncing", "/x"); };
  EXPECT_TRUE(convert(Code::kIo).IsIOError());
  EXPECT_TRUE(convert(Code::kIo).GetRetryable());
  EXPECT_TRUE(convert(Code::kBusy).IsIOError());
  EXPECT_TRUE(convert(Code::kBusy).GetRetryable());
  EXPECT_FALSE(convert(Code::kReadOnly).GetRetryable());
  EXPECT_FALSE(convert(Code::kUnknownOutcome).GetRetryable());
  EXPECT_TRUE(ToWriteStatus(Status(), "syncing", "/x").ok());
}

TEST(StatusConversion, FullHostBelowAnEmulatedDeviceIsNoSpace) {
  EXPECT_TRUE(ToWriteStatus(Error(Code::kIo, "t", ENOSPC), "syncing", "/x").IsNoSpace());
  EXPECT_TRUE(ToWriteStatus(Error(Code::kIo, "t", EDQUOT), "syncing", "/x").IsNoSpace());
  EXPECT_FALSE(ToWriteStatus(Error(Code::kIo, "t", EIO), "syncing", "/x").IsNoSpace());
}

TEST(StatusConversion, ExceptionsBecomeStatuses) {
  const IOStatus named = Guarded([]() -> IOStatus { throw std::runtime_error("boom"); });
  EXPECT_TRUE(named.IsIOError());
  EXPECT_NE(named.ToString().find("boom"), std::string::npos);
  EXPECT_TRUE(Guarded([]() -> IOStatus { throw 5; }).IsIOError());
  const IOStatus memory = Guarded([]() -> IOStatus { throw std::bad_alloc(); });
  EXPECT_NE(memory.ToString().find("out of memory"), std::string::npos) << memory.ToString();
  EXPECT_TRUE(Guarded([] { return IOStatus::OK(); }).ok());
}

}  // namespace
}  // namespace zenfs
