#include "backup/lifetime_hints.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(LifetimeHintsTest, LinesOfTheOlderCommandAreUnderstood) {
  const auto hints =
      LifetimeHints::Parse("rocksdbtest/dbbench/000014.sst\t3\nrocksdbtest/dbbench/CURRENT\t0\n");
  EXPECT_EQ(hints.Find("rocksdbtest/dbbench/000014.sst", ""), Lifetime::kMedium);
  EXPECT_EQ(hints.Find("/rocksdbtest//dbbench/CURRENT", ""), Lifetime::kNotSet);
  EXPECT_EQ(hints.Find("other", "other"), std::nullopt);
}

TEST(LifetimeHintsTest, AMovedFileIsFoundByItsNameIfThatSaysEnough) {
  const auto hints = LifetimeHints::Parse("a/1.sst\t2\nb/1.sst\t4\nb/2.sst\t5\n");
  EXPECT_EQ(hints.Find("c/2.sst", "2.sst"), Lifetime::kExtreme);
  EXPECT_EQ(hints.Find("c/1.sst", "1.sst"), std::nullopt);
  EXPECT_EQ(hints.Find("c/a/1.sst", "a/1.sst"), Lifetime::kShort);
}

TEST(LifetimeHintsTest, WhatIsNoHintIsPassedOver) {
  const auto hints = LifetimeHints::Parse("no tab\na\t6\nb\t-1\nc\tx\nd\t2x\n\t3\nwith\ttab\t1\nlast\t2");
  EXPECT_EQ(hints.Text(), "last\t2\nwith\ttab\t1\n");
}

TEST(LifetimeHintsTest, HintsThatNoFileNeedsAreNotKept) {
  LifetimeHints hints;
  hints.KeepOnlyFor({"to/a/1.sst", "a/1.sst", "to/2.sst", "2.sst"});
  for (const std::string line : {"a/1.sst\t2", "b/1.sst\t4", "b/2.sst\t5", "b/3.sst\t5", "c/4.sst\t1"})
    hints.TakeLine(line);
  EXPECT_EQ(hints.Text(), "a/1.sst\t2\n");
  EXPECT_EQ(hints.Find("to/a/1.sst", "a/1.sst"), Lifetime::kShort);
  EXPECT_EQ(hints.Find("to/1.sst", "1.sst"), std::nullopt) << "two files of this name have different hints";
  EXPECT_EQ(hints.Find("to/2.sst", "2.sst"), Lifetime::kExtreme) << "by its name";
  EXPECT_EQ(hints.Find("b/3.sst", "3.sst"), std::nullopt);
}

TEST(LifetimeHintsTest, ANameWithALineEndIsLeftOut) {
  LifetimeHints hints;
  hints.Add("a\nb", Lifetime::kShort);
  hints.Add("c", Lifetime::kShort);
  EXPECT_EQ(hints.Text(), "c\t2\n");
}

}  // namespace
}  // namespace zenfs
