#include "catalog/reservations.h"

#include <gtest/gtest.h>

namespace zenfs::reservations_test {
namespace {

using Names = std::vector<std::pair<FileId, std::string>>;

ReservationKeys Keys(Names names, std::vector<FileId> exclusive = {}, std::vector<FileId> shared = {}) {
  return {std::move(names), std::move(exclusive), std::move(shared)};
}

TEST(ReservationsTest, SameNameConflictsAndTheSameNameElsewhereDoesNot) {
  Reservations held;
  held.Add(Keys({{FileId(1), "a"}}));
  EXPECT_TRUE(held.Conflicts(Keys({{FileId(1), "b"}, {FileId(1), "a"}})));
  EXPECT_FALSE(held.Conflicts(Keys({{FileId(1), "b"}})));
  EXPECT_FALSE(held.Conflicts(Keys({{FileId(2), "a"}})));
}

TEST(ReservationsTest, SharedGoesBesideSharedAndNotBesideExclusive) {
  Reservations held;
  held.Add(Keys({}, {}, {FileId(1)}));
  EXPECT_FALSE(held.Conflicts(Keys({}, {}, {FileId(1)})));
  EXPECT_TRUE(held.Conflicts(Keys({}, {FileId(1)})));
  held.Add(Keys({}, {FileId(2)}));
  EXPECT_TRUE(held.Conflicts(Keys({}, {}, {FileId(2)})));
  EXPECT_TRUE(held.Conflicts(Keys({}, {FileId(2)})));
}

TEST(ReservationsTest, NothingConflictsAfterRemoval) {
  Reservations held;
  const auto first = held.Add(Keys({{FileId(1), "a"}}, {FileId(9)}, {FileId(1)}));
  const auto second = held.Add(Keys({{FileId(1), "b"}}, {}, {FileId(1)}));
  held.Remove(first);
  EXPECT_FALSE(held.Conflicts(Keys({{FileId(1), "a"}}, {FileId(9)})));
  EXPECT_TRUE(held.Conflicts(Keys({}, {FileId(1)})));
  held.Remove(second);
  EXPECT_FALSE(held.Conflicts(Keys({}, {FileId(1)})));
}

TEST(ReservationsTest, NoKeysConflictWithNothing) {
  Reservations held;
  held.Add(Keys({{FileId(1), "a"}}, {FileId(9)}, {FileId(1)}));
  EXPECT_FALSE(held.Conflicts({}));
  EXPECT_TRUE(ReservationKeys().empty());
}

}  // namespace
}  // namespace zenfs::reservations_test
