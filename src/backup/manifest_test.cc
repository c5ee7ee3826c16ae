#include "backup/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "backup/path_tree_rig.h"
#include "model/edit.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

struct Written {
  PathTree paths;
  Manifest manifest;

  void AddDirectory(std::string_view path) { manifest.directories.insert(AddPath(paths, path)); }
  void AddFile(std::string_view path, ManifestFile file) { manifest.files[AddPath(paths, path)] = file; }
  std::string Text() const { return ManifestText(manifest, paths); }
};

Written Sample() {
  Written sample;
  sample.manifest.header = {Uuid::Generate(), Uuid::Generate(), "db/with \xff", 1234};
  sample.AddDirectory("a");
  sample.AddDirectory("a/b");
  sample.AddFile("a/x.sst", {7, 100, 1626804832, 0x01020304, Lifetime::kLong});
  sample.AddFile("a/b/\xc3\xa4\n%", {8, 0, 0, 0, Lifetime::kNotSet});
  sample.manifest.complete = true;
  return sample;
}

Result<Manifest> Parse(std::string_view text) {
  PathTree paths;
  return ParseManifest(text, paths);
}

TEST(ManifestTest, WhatIsWrittenIsRead) {
  const Written sample = Sample();
  Written read;
  auto manifest = ParseManifest(sample.Text(), read.paths);
  ASSERT_TRUE(manifest.has_value()) << manifest.error().text();
  read.manifest = *std::move(manifest);
  EXPECT_TRUE(read.manifest.header.SameSource(sample.manifest.header));
  EXPECT_EQ(read.manifest.header.backup, sample.manifest.header.backup);
  EXPECT_EQ(read.manifest.files.size(), 2u);
  EXPECT_EQ(read.manifest.files.at(*read.paths.Find("a/x.sst")),
            (ManifestFile{7, 100, 1626804832, 0x01020304, Lifetime::kLong}));
  EXPECT_TRUE(read.manifest.directories.contains(*read.paths.Find("a/b")));
  EXPECT_TRUE(read.manifest.complete);
  EXPECT_EQ(read.Text(), sample.Text());
}

TEST(ManifestTest, ATornLastLineIsAnUnfinishedBackup) {
  const std::string text = Sample().Text();
  for (std::size_t cut = text.rfind("{\"type\":\"end\""); cut < text.size(); ++cut) {
    const auto read = Parse(text.substr(0, cut));
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_FALSE(read->complete);
    EXPECT_EQ(read->files.size(), 2u);
  }
}

TEST(ManifestTest, TheLastLineOfAPathCounts) {
  Written sample = Sample();
  sample.manifest.complete = false;
  const std::string text = sample.Text() + ManifestLine("a/x.sst", {9, 5, 6, 7, Lifetime::kShort});
  PathTree paths;
  const auto read = ParseManifest(text, paths);
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->files.at(*paths.Find("a/x.sst")).id, 9u);
}

TEST(ManifestTest, ALostLineDoesNotGoUnnoticed) {
  for (const std::string type : {"file", "directory"}) {
    std::string text = Sample().Text();
    const std::size_t from = text.find("{\"type\":\"" + type + "\"");
    text.erase(from, text.find('\n', from) + 1 - from);
    const auto read = Parse(text);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code(), Code::kCorruption);
    EXPECT_THAT(read.error().text(), type == "file"
                                         ? HasSubstr("line 5: its counts do not match")
                                         : HasSubstr("line 2: no line before it has its directory"));
  }
}

TEST(ManifestTest, ALineAddsOneNameHoweverDeepItsPathIs) {
  Written sample;
  sample.manifest.header = {Uuid::Generate(), Uuid::Generate(), "", 1};
  std::string path = "d";
  while (path.size() + 2 <= kMaxPathBytes) path += "/d";
  sample.manifest.missing[AddPath(sample.paths, path)] = "it is deep";
  PathTree paths;
  const auto read = ParseManifest(sample.Text(), paths);
  ASSERT_TRUE(read.has_value()) << read.error().text();
  ASSERT_EQ(read->missing.size(), 1u);
  EXPECT_EQ(read->missing.begin()->first, PathNode(1));
  EXPECT_EQ(paths.PathOf(PathNode(1)), path);
}

// A restore would fail in the middle.
TEST(ManifestTest, AFileBelowADirectoryThatIsOnlyMissingIsDamage) {
  Written sample;
  sample.manifest.header = {Uuid::Generate(), Uuid::Generate(), "", 1};
  sample.manifest.missing[AddPath(sample.paths, "gone")] = "File name too long";
  const auto read = Parse(sample.Text() + ManifestLine("gone/file", {}));
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().text(), HasSubstr("line 3: no line before it has its directory"));
}

TEST(ManifestTest, ALaterVersionIsNotGuessedAt) {
  std::string text = Sample().Text();
  text.replace(text.find("\"version\":1"), 11, "\"version\":3");
  EXPECT_EQ(Parse(text).error().code(), Code::kNotSupported);
}

// Each would be compared with all before it, for as many lines as fit a GiB.
TEST(ManifestTest, ALineOfThousandsOfMembersIsDamage) {
  std::string text = Sample().Text();
  std::string members;
  for (int i = 0; i < 5000; ++i) members += fmt::format("\"{}\":0,", i);
  text.insert(1, members);
  const auto read = Parse(text);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().text(), HasSubstr("line 1: it has too many members"));
}

TEST(ManifestTest, PathsOutsideTheDirectoryAreDamage) {
  for (const char* path : {"../x", "/x", "a/../x", "a//x", "", ".", "a/"}) {
    const std::string text = Sample().Text();
    const std::string line = ManifestLine(path, {});
    EXPECT_FALSE(Parse(text.substr(0, text.rfind("{\"type\":\"end\"")) + line).has_value()) << path;
  }
}

RC_GTEST_PROP(ManifestTest, AnyChangedByteIsReadOrRefused, (std::uint32_t place, char byte)) {
  std::string text = Sample().Text();
  text[place % text.size()] = byte;
  const auto read = Parse(text);
  if (!read) RC_ASSERT(!read.error().text().empty());
}

TEST(ManifestTest, APathThatNoVolumeTakesIsDamageAndItsLineIsNamed) {
  // The directories above `path`, then the path itself.
  const auto parse = [](const std::string& path, bool as_file) {
    Written sample;
    sample.manifest.header = {Uuid::Generate(), Uuid::Generate(), "", 1};
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      sample.AddDirectory(path.substr(0, at));
    }
    if (as_file) sample.AddFile(path, {});
    if (!as_file) sample.AddDirectory(path);
    return Parse(sample.Text());
  };
  std::string longest = "b";
  while (longest.size() + 2 <= kMaxPathBytes) longest += "/b";
  const std::string wide = "b/" + std::string(kMaxNameBytes, 'b');
  for (const bool as_file : {false, true}) {
    EXPECT_TRUE(parse(longest, as_file).has_value());
    EXPECT_TRUE(parse(wide, as_file).has_value());
    const auto deep = parse(longest + "/b", as_file);
    ASSERT_FALSE(deep.has_value());
    EXPECT_EQ(deep.error().code(), Code::kCorruption);
    EXPECT_EQ(deep.error().text(), "line 2050: its path has 4097 bytes; the limit is 4095");
    const auto broad = parse(wide + "b", as_file);
    ASSERT_FALSE(broad.has_value());
    EXPECT_EQ(broad.error().text(), "line 3: a name in its path has 256 bytes; the limit is 255");
  }
}

TEST(ManifestTest, MissingFilesAreListedInALaterVersion) {
  Written sample;
  sample.manifest.header = {Uuid::Generate(), Uuid::Generate(), "", 1};
  sample.manifest.complete = true;
  EXPECT_THAT(sample.Text(), HasSubstr("\"version\":1"));
  for (const std::string& path :
       {std::string("short %"), std::string("short %/below"), std::string(100'000, '\xff')}) {
    sample.manifest.missing[AddPath(sample.paths, path)] = "File name too long";
  }
  EXPECT_THAT(sample.Text(), HasSubstr("\"version\":2"));
  PathTree paths;
  const auto read = ParseManifest(sample.Text(), paths);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(read->missing.size(), 3u);
  EXPECT_EQ(read->missing.at(*paths.Find("short %")), "File name too long");
  EXPECT_TRUE(read->missing.contains(*paths.Find("short %/below")));
}

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
