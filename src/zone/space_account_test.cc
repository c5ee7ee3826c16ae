#include "zone/space_account.h"

#include <gtest/gtest.h>

namespace zenfs::space_account_test {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kZone = 16 * kBlock;

// An account of three empty zones, one of them kept for the log.
struct Account {
  explicit Account(std::uint64_t headroom) : room(table, empty, kBlock, headroom) {
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      table.Change(ZoneId(i), [](ZoneState& z) {
        z.phase = ZonePhase::kEmpty;
        z.capacity = kZone;
      });
      empty.Add(ZoneId(i));
    }
  }

  ZoneTable table{3};
  EmptyZones empty{{.needs = 1, .least = 1}};
  SpaceAccount room;
};

TEST(SpaceAccountTest, DataGetsNeitherTheHeadroomNorTheZonesOfTheLog) {
  const Account account(kZone);
  EXPECT_EQ(account.room.ForCopies(), 3 * kZone);
  EXPECT_EQ(account.room.ForData(0), kZone);
}

TEST(SpaceAccountTest, WithoutAHeadroomNothingIsPromised) {
  Account account(0);
  std::uint64_t promise = 0;
  EXPECT_TRUE(account.room.Promise(promise, 5 * kBlock));
  EXPECT_EQ(promise, 0U);
}

TEST(SpaceAccountTest, APromiseTakesRoomFromAllButItsOwner) {
  Account account(kZone);
  std::uint64_t promise = 0, other = 0;
  ASSERT_TRUE(account.room.Promise(promise, 12 * kBlock));
  EXPECT_EQ(account.room.ForData(promise), 12 * kBlock);
  EXPECT_EQ(account.room.ForData(0), 4 * kBlock);
  EXPECT_EQ(account.room.ForCopies(), 3 * kZone - 12 * kBlock);
  EXPECT_FALSE(account.room.Promise(other, 5 * kBlock));
  EXPECT_EQ(other, 0U);
  account.room.ReleasePromise(promise);
  EXPECT_TRUE(account.room.Promise(other, 5 * kBlock));
}

TEST(SpaceAccountTest, AGrantUsesUpThePromise) {
  Account account(kZone);
  std::uint64_t promise = 0;
  ASSERT_TRUE(account.room.Promise(promise, 12 * kBlock));
  EXPECT_EQ(account.room.Grant(promise, 10 * kBlock), 10 * kBlock);
  EXPECT_EQ(promise, 2 * kBlock);
  EXPECT_EQ(account.room.granted(), 10 * kBlock);
  EXPECT_EQ(account.room.promised(), 2 * kBlock);
  EXPECT_EQ(account.room.Grant(promise, 10 * kBlock), 2 * kBlock);
  account.room.ReleaseGrant(12 * kBlock);
  EXPECT_EQ(account.room.ForData(0), kZone);
}

TEST(SpaceAccountTest, TheLogTakesAZoneOnlyIfTheHeadroomStaysWhole) {
  Account account(3 * kZone);
  EXPECT_TRUE(account.room.HeadroomIsFree());
  EXPECT_FALSE(account.room.SparesHeadroomForLog());
  EXPECT_TRUE(Account(2 * kZone).room.SparesHeadroomForLog());
}

}  // namespace
}  // namespace zenfs::space_account_test
