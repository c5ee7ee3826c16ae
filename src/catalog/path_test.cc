#include "catalog/path.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(PathTest, SlashesAndDotsAreNormalised) {
  EXPECT_EQ(NormalizePath("/a//b/./c/../d/"), "a/b/d");
  EXPECT_EQ(NormalizePath("a/b"), "a/b");
  EXPECT_EQ(NormalizePath("./a"), "a");
  EXPECT_EQ(NormalizePath("a/."), "a");
  EXPECT_EQ(NormalizePath("a/b/../.."), "");
}

TEST(PathTest, EmptyPathsAreTheRoot) {
  for (const char* root : {"", "/", "//", ".", "/.", "..", "/../..", "a/.."}) {
    EXPECT_EQ(NormalizePath(root), "") << root;
    EXPECT_TRUE(SplitPath(root).empty()) << root;
  }
}

TEST(PathTest, ParentOfTheRootIsTheRoot) {
  EXPECT_EQ(NormalizePath("../a"), "a");
  EXPECT_EQ(NormalizePath("/../../a/../../b"), "b");
}

TEST(PathTest, NamesThatContainDotsAreNames) {
  EXPECT_EQ(NormalizePath("/.../..a/a../.hidden"), ".../..a/a../.hidden");
}

TEST(PathTest, NormalisedPathsAreNotChanged) {
  for (const char* path : {"", "a", "a/b/c", "rocksdb/000012.sst"}) {
    EXPECT_EQ(NormalizePath(path), path);
    EXPECT_EQ(NormalizePath(NormalizePath(path)), path);
  }
}

}  // namespace
}  // namespace zenfs
