#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/thread.h"

namespace zenfs {
namespace {

constexpr FileId kDir{10};
constexpr FileId kFile{11};

// /dir (10), /dir/file (11), /top (12)
State SomeState() {
  State state;
  EXPECT_TRUE(
      state
          .Apply(std::vector<Edit>{RaiseCounters{100, 0}, CreateDirectory{kDir, kRootDirectory, "dir", 1},
                                   CreateFile{kFile}, LinkFile{kDir, "file", kFile},
                                   CreateFile{FileId(12), FileShape::kFramed},
                                   LinkFile{kRootDirectory, "top", FileId(12)}})
          .ok());
  return state;
}

Result<Entry> Resolve(const Catalog& catalog, std::string_view path) {
  Result<Entry> entry = Fail(Code::kIo, "not looked at");
  catalog.Look([&](const CatalogView& view) { entry = view.Resolve(path); });
  return entry;
}

Code ResolveError(const Catalog& catalog, std::string_view path) {
  const auto entry = Resolve(catalog, path);
  EXPECT_FALSE(entry) << path;
  return entry ? Code::kIo : entry.error().code();
}

Catalog::Planner Names(FileId parent, std::string name) {
  return [parent, name = std::move(name)](const CatalogView&, LockKeys& keys) -> Status {
    keys.names.emplace_back(parent, name);
    keys.shared.push_back(parent);
    return {};
  };
}

TEST(CatalogTest, PathsLeadToFilesDirectoriesAndFreeNames) {
  const Catalog catalog(SomeState());
  EXPECT_EQ(Resolve(catalog, "/")->id, kRootDirectory);
  EXPECT_EQ(Resolve(catalog, "/")->name, "");
  const Entry dir = Resolve(catalog, "dir").value();
  EXPECT_EQ(dir.kind, Entry::Kind::kDirectory);
  EXPECT_EQ(dir.id, kDir);
  const Entry file = Resolve(catalog, "/dir//./file").value();
  EXPECT_EQ(file.kind, Entry::Kind::kFile);
  EXPECT_EQ(file.id, kFile);
  EXPECT_EQ(file.parent, kDir);
  EXPECT_FALSE(file.pending);
  const Entry missing = Resolve(catalog, "dir/new").value();
  EXPECT_EQ(missing.kind, Entry::Kind::kMissing);
  EXPECT_EQ(missing.parent, kDir);
  EXPECT_EQ(missing.name, "new");
}

TEST(CatalogTest, InvalidPathsAreErrorsWithACodeForEachCause) {
  const Catalog catalog(SomeState());
  EXPECT_EQ(ResolveError(catalog, "no/such/file"), Code::kNotFound);
  EXPECT_EQ(ResolveError(catalog, "dir/new/file"), Code::kNotFound);
  EXPECT_EQ(ResolveError(catalog, "top/file"), Code::kNotADirectory);
  EXPECT_EQ(ResolveError(catalog, "dir/file/x"), Code::kNotADirectory);
  EXPECT_EQ(ResolveError(catalog, "dir/" + std::string(256, 'x')), Code::kInvalidArgument);
  EXPECT_EQ(ResolveError(catalog, std::string_view("dir/a\0b", 7)), Code::kInvalidArgument);
  EXPECT_TRUE(Resolve(catalog, "dir/" + std::string(255, 'x')));
}

TEST(CatalogTest, PendingFileShadowsTheCommittedOneUntilItIsDropped) {
  Catalog catalog(SomeState());
  EXPECT_EQ(catalog.AddPending({.id = FileId(50), .parent = kDir, .name = "file"}), kNoFile);
  Entry entry = Resolve(catalog, "dir/file").value();
  EXPECT_EQ(entry.id, FileId(50));
  EXPECT_TRUE(entry.pending);
  EXPECT_TRUE(entry.shadows);
  EXPECT_EQ(catalog.AddPending({.id = FileId(51), .parent = kDir, .name = "file"}), FileId(50))
      << "the older pending file is replaced";
  EXPECT_EQ(Resolve(catalog, "dir/file")->id, FileId(51));
  catalog.DropPending(FileId(50));  // has no effect
  EXPECT_EQ(Resolve(catalog, "dir/file")->id, FileId(51));
  catalog.DropPending(FileId(51));
  entry = Resolve(catalog, "dir/file").value();
  EXPECT_EQ(entry.id, kFile);
  EXPECT_FALSE(entry.pending);
}

TEST(CatalogTest, PendingFileWithANewNameShadowsNothing) {
  Catalog catalog(SomeState());
  catalog.AddPending({.id = FileId(50), .parent = kDir, .name = "new"});
  EXPECT_FALSE(Resolve(catalog, "dir/new")->shadows);
  EXPECT_EQ(ResolveError(catalog, "dir/new/x"), Code::kNotADirectory);
}

TEST(CatalogTest, OnlyPendingFilesOfTheDirectoryAreListed) {
  Catalog catalog(SomeState());
  catalog.AddPending({.id = FileId(50), .parent = kDir, .name = "b"});
  catalog.AddPending({.id = FileId(51), .parent = kDir, .name = "a"});
  catalog.AddPending({.id = FileId(52), .parent = kRootDirectory, .name = "c"});
  catalog.AddPending({.id = FileId(53), .parent = FileId(99), .name = ""});
  catalog.Look([](const CatalogView& view) {
    std::string names;
    for (const PendingFile* file : view.PendingIn(kDir)) names += file->name;
    EXPECT_EQ(names, "ab");
    EXPECT_EQ(view.PendingIn(kRootDirectory).size(), 1U);
    EXPECT_TRUE(view.PendingIn(FileId(11)).empty());
    EXPECT_EQ(view.FindPending(FileId(52))->name, "c");
    EXPECT_EQ(view.FindPending(FileId(54)), nullptr);
  });
}

TEST(CatalogTest, PromotedFileReplacesTheFileThatItShadows) {
  Catalog catalog(SomeState());
  catalog.AddPending({.id = FileId(50), .parent = kDir, .name = "file", .lifetime = Lifetime::kShort});
  catalog.SetPendingLifetime(FileId(50), Lifetime::kLong);
  catalog.SetPendingLifetime(FileId(77), Lifetime::kLong);  // has no effect
  std::vector<Edit> edits;
  LockKeys keys;
  catalog.Look([&](const CatalogView& view) { edits = view.Promote(FileId(50), keys); });
  EXPECT_EQ(keys.exclusive, (std::vector<FileId>{FileId(50), kFile}));
  const auto effects = catalog.Apply(edits);
  ASSERT_TRUE(effects);
  EXPECT_EQ(effects->removed, std::vector<FileId>{kFile});
  const Entry entry = Resolve(catalog, "dir/file").value();
  EXPECT_EQ(entry.id, FileId(50));
  EXPECT_FALSE(entry.pending);
  EXPECT_EQ(catalog.FindFile(FileId(50))->lifetime, Lifetime::kLong);
  EXPECT_EQ(catalog.FindFile(kFile), nullptr);
  catalog.Look([](const CatalogView& view) { EXPECT_TRUE(view.PendingIn(kDir).empty()); });
}

TEST(CatalogTest, CommitOfAFileKeepsANewerPendingFileOfItsName) {
  Catalog catalog(SomeState());
  catalog.AddPending({.id = FileId(50), .parent = kDir, .name = "new"});
  std::vector<Edit> edits;
  LockKeys keys;
  catalog.Look([&](const CatalogView& view) { edits = view.Promote(FileId(50), keys); });
  catalog.AddPending({.id = FileId(51), .parent = kDir, .name = "new"});  // created again before the commit
  ASSERT_TRUE(catalog.Apply(edits));
  const Entry entry = Resolve(catalog, "dir/new").value();
  EXPECT_EQ(entry.id, FileId(51));
  EXPECT_TRUE(entry.shadows);
}

// Otherwise the old name would be gone while the new one still showed the pending file.
TEST(CatalogTest, RenameOntoAPendingFileIsSeenAtOnce) {
  Catalog catalog(SomeState());
  catalog.AddPending({.id = FileId(20), .parent = kRootDirectory, .name = "new"});
  ASSERT_TRUE(catalog.Apply(std::vector<Edit>{RenameEntry{kDir, "file", kRootDirectory, "new"}}));
  EXPECT_EQ(Resolve(catalog, "dir/file")->kind, Entry::Kind::kMissing);
  EXPECT_EQ(Resolve(catalog, "new")->id, kFile);
  EXPECT_FALSE(Resolve(catalog, "new")->pending);
}

TEST(CatalogTest, EditThatContradictsTheStateIsAnError) {
  Catalog catalog(SomeState());
  const std::vector<Edit> edits = {UnlinkFile{kDir, "nobody"}};
  EXPECT_EQ(catalog.Apply(edits).error().code(), Code::kCorruption);
}

TEST(CatalogTest, BeginReturnsThePlannersErrorAndLocksNothing) {
  Catalog catalog(SomeState());
  const auto failed = catalog.Begin([](const CatalogView&, LockKeys& keys) -> Status {
    keys.exclusive.push_back(kFile);
    return Fail(Code::kNotEmpty, "no");
  });
  EXPECT_EQ(failed.error().code(), Code::kNotEmpty);
  EXPECT_TRUE(catalog.Begin([](const CatalogView&, LockKeys& keys) -> Status {
    keys.exclusive.push_back(kFile);
    return {};
  }));
}

// P4 of docs/internals/failures.md.
TEST(CatalogTest, ActionsOnDifferentNamesDoNotWait) {
  Catalog catalog(SomeState());
  const auto a = catalog.Begin(Names(kDir, "a"));
  const auto b = catalog.Begin(Names(kDir, "b"));
  const auto c = catalog.Begin(Names(kRootDirectory, "a"));
  EXPECT_TRUE(a && b && c);
}

// R2 of docs/internals/failures.md.
TEST(CatalogTest, SecondActionOnANameWaitsAndSeesTheResultOfTheFirst) {
  Catalog catalog(SomeState());
  Catalog::Action first = std::move(catalog.Begin(Names(kDir, "new"))).value();
  std::atomic<int> planned = 0;
  std::atomic<bool> applied = false;
  Thread second("second", [&] {
    const auto action = catalog.Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
      ++planned;
      planned.notify_all();
      keys.names.emplace_back(kDir, "new");
      keys.shared.push_back(kDir);
      if (view.Resolve("dir/new")->kind == Entry::Kind::kFile) return Fail(Code::kExists, "it is there");
      return {};
    });
    EXPECT_TRUE(applied) << "the second action did not wait";
    EXPECT_EQ(action.error().code(), Code::kExists);
  });
  planned.wait(0);
  applied = true;
  ASSERT_TRUE(catalog.Apply(std::vector<Edit>{CreateFile{FileId(60)}, LinkFile{kDir, "new", FileId(60)}}));
  {
    const Catalog::Action ended = std::move(first);
  }
  second.Join();
  EXPECT_GE(planned, 2);
}

TEST(CatalogTest, RemovalOfADirectoryWaitsForActionsInIt) {
  Catalog catalog(SomeState());
  Catalog::Action inside = std::move(catalog.Begin(Names(kDir, "new"))).value();
  std::atomic<int> planned = 0;
  std::atomic<bool> ended = false;
  Thread remover("remover", [&] {
    const auto action = catalog.Begin([&](const CatalogView&, LockKeys& keys) -> Status {
      ++planned;
      planned.notify_all();
      keys.exclusive.push_back(kDir);
      return {};
    });
    EXPECT_TRUE(action);
    EXPECT_TRUE(ended);
  });
  planned.wait(0);
  ended = true;
  {
    const Catalog::Action gone = std::move(inside);
  }
  remover.Join();
}

TEST(CatalogTest, ActionsOfManyThreadsOnANameRunOneAtATime) {
  Catalog catalog(SomeState());
  constexpr int kNames = 3;
  std::atomic<int> inside[kNames] = {};
  std::atomic<int> wrong = 0;
  std::vector<Thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back("action", [&, t] {
      for (int i = 0; i < 300; ++i) {
        const int a = (t + i) % kNames, b = (t + 2 * i) % kNames;
        const auto action = catalog.Begin([&](const CatalogView&, LockKeys& keys) -> Status {
          keys.names.emplace_back(kDir, std::to_string(a));
          if (b != a) keys.names.emplace_back(kDir, std::to_string(b));
          return {};
        });
        wrong += inside[a]++ != 0;
        if (b != a) wrong += inside[b]++ != 0;
        --inside[a];
        if (b != a) --inside[b];
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace zenfs
