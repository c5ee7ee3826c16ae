// The plans of actions on names: their errors, locks and edits. No device is needed.
#include "volume/mount/name_plans.h"

#include <gmock/gmock.h>

namespace zenfs {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// /dir (10), /dir/inner (11, a directory), /dir/file (12), /top (13); not committed: /new (14).
class NamePlansTest : public testing::Test {
 protected:
  static constexpr FileId kDir{10};
  static constexpr FileId kInner{11};
  static constexpr FileId kFile{12};
  static constexpr FileId kTop{13};
  static constexpr FileId kPending{14};

  NamePlansTest() : catalog_(Committed()) {
    catalog_.AddPending({.id = kPending, .parent = kRootDirectory, .name = "new"});
  }
  static State Committed() {
    State state;
    EXPECT_TRUE(
        state
            .Apply(std::vector<Edit>{RaiseCounters{100, 0}, CreateDirectory{kDir, kRootDirectory, "dir", 1},
                                     CreateDirectory{kInner, kDir, "inner", 1}, CreateFile{.id = kFile},
                                     LinkFile{kDir, "file", kFile}, CreateFile{.id = kTop},
                                     LinkFile{kRootDirectory, "top", kTop}})
            .ok());
    return state;
  }

  // Calls `plan`, one of the plan functions, with these arguments.
  template <typename Plan, typename... Arguments>
  auto Ask(const Plan& plan, const Arguments&... arguments) {
    decltype(plan(std::declval<const CatalogView&>(), arguments..., keys_)) result =
        Fail(Code::kIo, "not asked");
    keys_ = {};
    catalog_.Look([&](const CatalogView& view) { result = plan(view, arguments..., keys_); });
    return result;
  }
  template <typename Plan, typename... Arguments>
  Code CodeOf(const Plan& plan, const Arguments&... arguments) {
    const auto result = Ask(plan, arguments...);
    EXPECT_FALSE(result.ok()) << "the plan succeeded";
    return result.ok() ? Code::kIo : result.error().code();
  }

  Catalog catalog_;
  LockKeys keys_;
};

TEST_F(NamePlansTest, ARenameOverAFileLocksBothNamesAndTheFileThatGoes) {
  const auto plan = Ask(PlanRename, "/top", "/dir/file");
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->same());
  EXPECT_THAT(plan->creation, IsEmpty());
  EXPECT_THAT(keys_.names, Contains(std::pair(kRootDirectory, std::string("top"))));
  EXPECT_THAT(keys_.names, Contains(std::pair(kDir, std::string("file"))));
  EXPECT_THAT(keys_.exclusive, Each(kFile));
}

TEST_F(NamePlansTest, ARenameOrLinkOfAPendingFileBeginsWithItsCreation) {
  const auto renamed = Ask(PlanRename, "/new", "/dir/file");
  ASSERT_TRUE(renamed.ok());
  ASSERT_FALSE(renamed->creation.empty());
  EXPECT_EQ(std::get<CreateFile>(renamed->creation.front()).id, kPending);
  const auto linked = Ask(PlanLink, "/new", "/other");
  ASSERT_TRUE(linked.ok());
  EXPECT_FALSE(linked->creation.empty());
}

TEST_F(NamePlansTest, ARenameToTheSameFileChangesNothing) {
  const auto plan = Ask(PlanRename, "/top", "/dir/../top");
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->same());
}

TEST_F(NamePlansTest, DirectoriesAreRenamedOneAtATimeAndNeverIntoThemselves) {
  ASSERT_TRUE(Ask(PlanRename, "/dir/inner", "/moved").ok());
  EXPECT_THAT(keys_.exclusive, Contains(kNoFile));
  EXPECT_EQ(CodeOf(PlanRename, "/dir", "/dir/inner/dir"), Code::kInvalidArgument);
}

TEST_F(NamePlansTest, ARenameReplacesOnlyWhatIsOfTheSameKindAndEmpty) {
  EXPECT_EQ(CodeOf(PlanRename, "/none", "/top"), Code::kNotFound);
  EXPECT_EQ(CodeOf(PlanRename, "/", "/top"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(PlanRename, "/dir/inner", "/top"), Code::kNotADirectory);
  EXPECT_EQ(CodeOf(PlanRename, "/top", "/dir"), Code::kIsADirectory);
  EXPECT_EQ(CodeOf(PlanRename, "/dir/inner", "/dir"), Code::kNotEmpty);
}

TEST_F(NamePlansTest, ALinkNeedsAFileAndAFreeName) {
  EXPECT_EQ(CodeOf(PlanLink, "/none", "/x"), Code::kNotFound);
  EXPECT_EQ(CodeOf(PlanLink, "/dir", "/x"), Code::kIsADirectory);
  EXPECT_EQ(CodeOf(PlanLink, "/top", "/new"), Code::kExists);
}

TEST_F(NamePlansTest, AnUnlinkLocksTheFileAndTheOneThatItShadows) {
  catalog_.AddPending({.id = FileId(15), .parent = kRootDirectory, .name = "top"});
  ASSERT_TRUE(Ask(PlanUnlink, "/top").ok());
  EXPECT_THAT(keys_.exclusive, ElementsAre(FileId(15), kTop));
  EXPECT_EQ(CodeOf(PlanUnlink, "/none"), Code::kNotFound);
  EXPECT_EQ(CodeOf(PlanUnlink, "/dir"), Code::kIsADirectory);
}

TEST_F(NamePlansTest, MissingParentsAreMadeOnlyIfAskedFor) {
  const std::vector<FileId> ids{FileId(20), FileId(21), FileId(22)};
  const auto edits = Ask(PlanMakeDirectory, "/dir/a/b", true, ids);
  ASSERT_TRUE(edits.ok());
  ASSERT_EQ(edits->size(), 2U);
  EXPECT_EQ(std::get<CreateDirectory>((*edits)[0]).parent, kDir);
  EXPECT_EQ(std::get<CreateDirectory>((*edits)[1]).parent, FileId(21));
  EXPECT_EQ(CodeOf(PlanMakeDirectory, "/dir/a/b", false, ids), Code::kNotFound);
  EXPECT_EQ(CodeOf(PlanMakeDirectory, "/dir", false, ids), Code::kExists);
  EXPECT_THAT(*Ask(PlanMakeDirectory, "/dir", true, ids), IsEmpty());
}

// A path of `bytes` bytes below /dir, of names of one byte.
std::string LongPath(std::size_t bytes) {
  std::string path = "/dir";
  while (path.size() + 2 <= bytes) path += "/x";
  if (path.size() < bytes) path += "y";
  return path + "/";  // the slash at either end does not count
}

TEST_F(NamePlansTest, ANewNameHasAPathOfAtMostTheLimit) {
  const std::vector<FileId> ids(kMaxPathBytes, FileId(20));
  EXPECT_EQ(Ask(PlanMakeDirectory, LongPath(1 + kMaxPathBytes), true, ids)->size(), kMaxPathBytes / 2 - 1);
  EXPECT_EQ(CodeOf(PlanMakeDirectory, LongPath(2 + kMaxPathBytes), true, ids), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(PlanMakeDirectory, "/dir/a/" + std::string(kMaxNameBytes + 1, 'x'), true, ids),
            Code::kInvalidArgument);
}

// /dir has a chain of directories to the limit and beyond, as an earlier version made it.
class LongPathsTest : public NamePlansTest {
 protected:
  static constexpr std::size_t kDepth = 3000;

  LongPathsTest() {
    std::vector<Edit> chain{RaiseCounters{1000 + kDepth, 0}};
    for (std::size_t i = 0; i < kDepth; ++i) {
      chain.push_back(CreateDirectory{FileId(1000 + i), i == 0 ? kDir : FileId(999 + i), "x", 1});
    }
    EXPECT_TRUE(catalog_.Apply(chain).has_value());
  }
  // The path of the directory that many levels below /dir.
  static std::string Chain(std::size_t levels) {
    std::string path = "/dir";
    while (levels-- > 0) path += "/x";
    return path;
  }
};

TEST_F(LongPathsTest, NoNameIsAddedBeyondTheLimit) {
  const std::string inside = Chain(2045);  // a path of 4093 bytes
  EXPECT_TRUE(Ask(PlanCreate, inside + "/y").ok());
  EXPECT_EQ(CodeOf(PlanCreate, inside + "/yy"), Code::kInvalidArgument);
  EXPECT_TRUE(Ask(PlanLink, "/top", inside + "/y").ok());
  EXPECT_EQ(CodeOf(PlanLink, "/top", inside + "/yy"), Code::kInvalidArgument);
  EXPECT_TRUE(Ask(PlanRename, "/top", inside + "/y").ok());
  EXPECT_EQ(CodeOf(PlanRename, "/top", inside + "/yy"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(PlanRename, "/top", Chain(kDepth) + "/y"), Code::kInvalidArgument);
}

TEST_F(LongPathsTest, NamesBeyondTheLimitCanBeReadAndRemoved) {
  EXPECT_TRUE(Ask(PlanRemoveDirectory, Chain(kDepth)).ok());
  EXPECT_THAT(*Ask(PlanMakeDirectory, Chain(kDepth), true, std::vector<FileId>(kDepth + 1)), IsEmpty());
  catalog_.AddPending({.id = FileId(30), .parent = FileId(999 + kDepth), .name = "file"});
  EXPECT_TRUE(Ask(PlanCreate, Chain(kDepth) + "/file").ok()) << "it replaces the file";
  EXPECT_TRUE(Ask(PlanUnlink, Chain(kDepth) + "/file").ok());
  EXPECT_TRUE(Ask(PlanRename, Chain(kDepth) + "/file", "/file").ok());
}

TEST_F(LongPathsTest, ARenameOfADirectoryCountsTheLongestPathBelowIt) {
  EXPECT_EQ(CodeOf(PlanRename, "/dir", "/dirs"), Code::kInvalidArgument);
  EXPECT_TRUE(Ask(PlanRename, "/dir", "/dur").ok()) << "no path becomes longer";
  EXPECT_TRUE(Ask(PlanRename, Chain(1000), "/half").ok());
  EXPECT_TRUE(Ask(PlanRename, Chain(2000), "/dir/inner/much longer than it was").ok());
  // 2000 directories, 4000 bytes: 95 are left.
  EXPECT_TRUE(Ask(PlanRename, Chain(1000), "/" + std::string(95, 'z')).ok());
  catalog_.AddPending({.id = FileId(30), .parent = kInner, .name = "pending"});
  EXPECT_TRUE(Ask(PlanRename, "/dir/inner", Chain(2040) + "/zzz").ok());  // 4087 bytes
  EXPECT_EQ(CodeOf(PlanRename, "/dir/inner", Chain(2040) + "/zzzz"), Code::kInvalidArgument);
}

TEST_F(NamePlansTest, OnlyAnEmptyDirectoryIsRemoved) {
  EXPECT_TRUE(Ask(PlanRemoveDirectory, "/dir/inner").ok());
  EXPECT_EQ(CodeOf(PlanRemoveDirectory, "/dir"), Code::kNotEmpty);
  EXPECT_EQ(CodeOf(PlanRemoveDirectory, "/"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(PlanRemoveDirectory, "/top"), Code::kNotADirectory);
  catalog_.AddPending({.id = FileId(16), .parent = kInner, .name = "young"});
  EXPECT_EQ(CodeOf(PlanRemoveDirectory, "/dir/inner"), Code::kNotEmpty);
}

}  // namespace
}  // namespace zenfs
