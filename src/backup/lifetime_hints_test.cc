#include "backup/lifetime_hints.h"

#include <gtest/gtest.h>

#include "backup/path_tree_rig.h"

namespace zenfs {
namespace {

class LifetimeHintsTest : public testing::Test {
 protected:
  PathNode Add(std::string_view path) { return AddPath(paths_, path); }
  LifetimeHints Parse(const std::vector<PathNode>& files, const std::vector<std::string>& lines,
                      std::string into = "") {
    LifetimeHints hints(paths_, files, std::move(into));
    for (const std::string& line : lines) hints.TakeLine(line);
    return hints;
  }

  PathTree paths_;
};

TEST_F(LifetimeHintsTest, LinesOfTheOlderCommandAreUnderstood) {
  const PathNode table = Add("rocksdbtest/dbbench/000014.sst");
  const PathNode current = Add("rocksdbtest/dbbench/CURRENT");
  const PathNode other = Add("other");
  const auto hints = Parse({table, current, other},
                           {"rocksdbtest/dbbench/000014.sst\t3", "/rocksdbtest//dbbench/CURRENT\t0"});
  EXPECT_EQ(hints.Find(table), Lifetime::kMedium);
  EXPECT_EQ(hints.Find(current), Lifetime::kNotSet);
  EXPECT_EQ(hints.Find(other), std::nullopt);
}

TEST_F(LifetimeHintsTest, AMovedFileIsFoundByItsNameIfThatSaysEnough) {
  const PathNode first = Add("1.sst");
  const PathNode second = Add("2.sst");
  const PathNode known = Add("a/1.sst");
  const auto hints = Parse({first, second, known}, {"a/1.sst\t2", "b/1.sst\t4", "b/2.sst\t5"}, "c");
  EXPECT_EQ(hints.Find(first), std::nullopt) << "two files of this name have different hints";
  EXPECT_EQ(hints.Find(second), Lifetime::kExtreme);
  EXPECT_EQ(hints.Find(known), Lifetime::kShort);
}

TEST_F(LifetimeHintsTest, ThePathInTheVolumeComesBeforeThatBelowTheBackup) {
  const PathNode file = Add("to/1.sst");
  const PathNode same = Add("1.sst");
  const auto hints = Parse({file, same}, {"to/1.sst\t2", "to/to/1.sst\t4", "too/1.sst\t5"}, "to");
  EXPECT_EQ(hints.Find(file), Lifetime::kLong);
  EXPECT_EQ(hints.Find(same), Lifetime::kShort);
}

TEST_F(LifetimeHintsTest, WhatIsNoHintIsPassedOver) {
  const std::vector<PathNode> files = {Add("no tab"), Add("a"),         Add("b"),   Add("c"),
                                       Add("d"),      Add("with\ttab"), Add("last")};
  const auto hints =
      Parse(files, {"no tab", "a\t6", "b\t-1", "c\tx", "d\t2x", "\t3", "with\ttab\t1", "last\t2"});
  std::vector<std::optional<Lifetime>> found;
  for (const PathNode file : files) found.push_back(hints.Find(file));
  const std::optional<Lifetime> none;
  EXPECT_EQ(found, (std::vector<std::optional<Lifetime>>{none, none, none, none, none, Lifetime::kNone,
                                                         Lifetime::kShort}));
}

TEST_F(LifetimeHintsTest, ANameWithALineEndHasNoLine) {
  EXPECT_EQ(LifetimeHintLine("a\nb", Lifetime::kShort), "");
  EXPECT_EQ(LifetimeHintLine("a/c", Lifetime::kShort), "a/c\t2\n");
}

}  // namespace
}  // namespace zenfs
