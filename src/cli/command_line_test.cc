#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace zenfs {
namespace {

TEST(NearestWord, IsTheOneWithTheFewestDifferences) {
  const std::vector<std::string> verbs = {"check", "mkfs", "list", "emu create", "emu clone"};
  EXPECT_EQ(NearestWord("chek", verbs), "check");
  EXPECT_EQ(NearestWord("mkfs.zenfs", verbs), "mkfs");
  EXPECT_EQ(NearestWord("emu creat", verbs), "emu create");
  EXPECT_EQ(NearestWord("lst", verbs), "list");
  EXPECT_EQ(NearestWord("MKFS", verbs), "mkfs");
}

TEST(NearestWord, IsNoneWhenAllAreFar) {
  const std::vector<std::string> verbs = {"check", "mkfs"};
  EXPECT_EQ(NearestWord("format", verbs), "");
  EXPECT_EQ(NearestWord("", verbs), "");
  EXPECT_EQ(NearestWord("x", verbs), "");
  EXPECT_EQ(NearestWord(std::string(1000, 'c'), verbs), "");
  EXPECT_EQ(NearestWord("check", {}), "");
}

}  // namespace
}  // namespace zenfs
