#include "backup/path_tree.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace zenfs {
namespace {

TEST(PathTreeTest, ANameIsFoundInItsDirectoryOnly) {
  PathTree paths;
  const PathNode a = paths.Add(kTopNode, "a");
  const PathNode b = paths.Add(a, "b");
  EXPECT_EQ(paths.Find(a, "b"), b);
  EXPECT_EQ(paths.Find(kTopNode, "b"), std::nullopt);
  EXPECT_EQ(paths.Find("a/b"), b);
  EXPECT_EQ(paths.Find("a/b/c"), std::nullopt);
  EXPECT_EQ(paths.Find(""), kTopNode);
  EXPECT_EQ(paths.PathOf(b), "a/b");
  EXPECT_EQ(paths.PathOf(kTopNode), "");
  EXPECT_EQ(paths.PathBelow("top", b), "top/a/b");
  EXPECT_EQ(paths.PathBelow("/", b), "/a/b");
  EXPECT_EQ(paths.PathBelow("top", kTopNode), "top");
}

TEST(PathTreeTest, ANameIsAddedOnce) {
  PathTree paths;
  const PathNode a = paths.Add(kTopNode, "a");
  EXPECT_EQ(paths.Add(kTopNode, "a"), a);
  const PathTree moved = std::move(paths);
  EXPECT_EQ(moved.Find("a"), a);
  EXPECT_EQ(moved.PathOf(a), "a");
}

RC_GTEST_PROP(PathTreeTest, EveryPathComesBackAndItsDirectoriesHaveLowerNumbers,
              (std::vector<std::string> names)) {
  PathTree paths;
  PathNode at = kTopNode;
  std::string path;
  for (std::string name : names) {
    std::erase(name, '/');
    if (name.empty()) name = "x";
    path += (path.empty() ? "" : "/") + name;
    const PathNode below = paths.Add(at, name);
    RC_ASSERT(below > at);
    RC_ASSERT(paths.DirectoryOf(below) == at);
    at = below;
  }
  RC_ASSERT(paths.PathOf(at) == path);
  RC_ASSERT(paths.Find(path) == std::optional(at));
}

}  // namespace
}  // namespace zenfs
