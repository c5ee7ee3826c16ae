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
