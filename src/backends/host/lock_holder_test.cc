#include "backends/host/lock_holder.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

constexpr char kLocks[] =
    "1: POSIX  ADVISORY  WRITE 11 fe:00:5678 0 EOF\n"
    "2: FLOCK  ADVISORY  WRITE 22 fe:00:1111 0 EOF\n"
    "3: FLOCK  ADVISORY  WRITE 33 fe:00:5678 0 EOF\n"
    "3: -> FLOCK  ADVISORY  WRITE 44 fe:00:9999 0 EOF\n"
    "4: FLOCK  ADVISORY  WRITE 0 fe:01:5678 0 EOF\n"
    "5: FLOCK  ADVIS";

TEST(LockHolderTest, FindsTheFlockOfTheFile) {
  EXPECT_EQ(FindFlockHolder(kLocks, 0xfe, 0, 5678), 33);
  EXPECT_EQ(FindFlockHolder(kLocks, 0xfe, 0, 1111), 22);
}

TEST(LockHolderTest, OtherFilesWaitersAndHiddenProcessesAreNotHolders) {
  EXPECT_EQ(FindFlockHolder(kLocks, 0xfe, 0, 567), 0);
  EXPECT_EQ(FindFlockHolder(kLocks, 0xfe, 0, 9999), 0);
  EXPECT_EQ(FindFlockHolder(kLocks, 0xfe, 1, 5678), 0);
  EXPECT_EQ(FindFlockHolder("", 0xfe, 0, 5678), 0);
}

}  // namespace
}  // namespace zenfs
