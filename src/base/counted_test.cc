#include "base/counted.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(Counted, OneIsSingularAndAllElseIsPlural) {
  EXPECT_EQ(Counted(0, "file"), "0 files");
  EXPECT_EQ(Counted(1, "file"), "1 file");
  EXPECT_EQ(Counted(2, "file"), "2 files");
}

TEST(Counted, AnIrregularPluralIsGiven) {
  EXPECT_EQ(Counted(1, "directory", "directories"), "1 directory");
  EXPECT_EQ(Counted(3, "directory", "directories"), "3 directories");
}

}  // namespace
}  // namespace zenfs
