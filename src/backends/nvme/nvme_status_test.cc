#include "backends/nvme/nvme_status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace zenfs {
namespace {

// SCT 1 (command specific), and "do not retry".
constexpr int kSpecific = 0x100;
constexpr int kDoNotRetry = 0x4000;

TEST(NvmeStatusTest, LimitsOfZonesAreTheErrorsOfTheBlockLayer) {
  EXPECT_EQ(NvmeErrno(kSpecific | 0xbd | kDoNotRetry), EOVERFLOW) << "too many active zones";
  EXPECT_EQ(NvmeErrno(kSpecific | 0xbe), ETOOMANYREFS) << "too many open zones";
}

TEST(NvmeStatusTest, CancelledCommandsAreSentAgain) {
  int sent = 0;
  const auto answered = [&](int answer) {
    return SentThrough([&] {
      errno = EINTR;
      return ++sent < 3 ? -1 : answer;
    });
  };
  EXPECT_EQ(answered(0), 0);
  EXPECT_EQ(sent, 3);
  sent = 0;
  EXPECT_EQ(answered(kSpecific | 0xbf), kSpecific | 0xbf) << "an answer of the drive is one";
  EXPECT_EQ(SentThrough([] {
              errno = ENODEV;
              return -1;
            }),
            -1);
}

TEST(NvmeStatusTest, DriveWithoutAFreeRandomWriteAreaIsBusy) {
  EXPECT_EQ(NvmeErrno(kSpecific | 0xb7 | kDoNotRetry), EBUSY);
}

TEST(NvmeStatusTest, UnreadableDataAndUnknownStatusesHaveAnErrno) {
  EXPECT_EQ(NvmeErrno(0x281), ENODATA);
  EXPECT_EQ(NvmeErrno(kSpecific | 0xb9 | kDoNotRetry), EIO);
  EXPECT_EQ(NvmeErrno(0x7ff), EIO);
}

TEST(NvmeStatusTest, NamesAreThoseOfTheSpecification) {
  EXPECT_EQ(std::string(NvmeStatusName(kSpecific | 0xb9 | kDoNotRetry)).substr(0, 12), "Zone Is Full");
  EXPECT_NE(std::string(NvmeStatusName(0x281)), "");
}

}  // namespace
}  // namespace zenfs
