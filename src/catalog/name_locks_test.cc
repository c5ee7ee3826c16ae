#include "catalog/name_locks.h"

#include <gtest/gtest.h>

namespace zenfs::name_locks_test {
namespace {

using Names = std::vector<std::pair<FileId, std::string>>;

LockKeys Keys(Names names, std::vector<FileId> exclusive = {}, std::vector<FileId> shared = {}) {
  return {std::move(names), std::move(exclusive), std::move(shared)};
}

TEST(NameLocksTest, ANameConflictsOnlyInTheSameDirectory) {
  NameLocks held;
  held.Add(Keys({{FileId(1), "a"}}));
  EXPECT_TRUE(held.Conflicts(Keys({{FileId(1), "b"}, {FileId(1), "a"}})));
  EXPECT_FALSE(held.Conflicts(Keys({{FileId(1), "b"}})));
  EXPECT_FALSE(held.Conflicts(Keys({{FileId(2), "a"}})));
}

TEST(NameLocksTest, SharedConflictsOnlyWithExclusive) {
  NameLocks held;
  held.Add(Keys({}, {}, {FileId(1)}));
  EXPECT_FALSE(held.Conflicts(Keys({}, {}, {FileId(1)})));
  EXPECT_TRUE(held.Conflicts(Keys({}, {FileId(1)})));
  held.Add(Keys({}, {FileId(2)}));
  EXPECT_TRUE(held.Conflicts(Keys({}, {}, {FileId(2)})));
  EXPECT_TRUE(held.Conflicts(Keys({}, {FileId(2)})));
}

TEST(NameLocksTest, NothingConflictsAfterRemoval) {
  NameLocks held;
  const auto first = held.Add(Keys({{FileId(1), "a"}}, {FileId(9)}, {FileId(1)}));
  const auto second = held.Add(Keys({{FileId(1), "b"}}, {}, {FileId(1)}));
  held.Remove(first);
  EXPECT_FALSE(held.Conflicts(Keys({{FileId(1), "a"}}, {FileId(9)})));
  EXPECT_TRUE(held.Conflicts(Keys({}, {FileId(1)})));
  held.Remove(second);
  EXPECT_FALSE(held.Conflicts(Keys({}, {FileId(1)})));
}

TEST(NameLocksTest, NoKeysConflictWithNothing) {
  NameLocks held;
  held.Add(Keys({{FileId(1), "a"}}, {FileId(9)}, {FileId(1)}));
  EXPECT_FALSE(held.Conflicts({}));
  EXPECT_TRUE(LockKeys().empty());
}

}  // namespace
}  // namespace zenfs::name_locks_test
