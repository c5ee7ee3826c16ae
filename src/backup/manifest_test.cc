#include "backup/manifest.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "backup/path_text.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

Manifest Sample() {
  Manifest manifest;
  manifest.header = {Uuid::Generate(), Uuid::Generate(), "db/with \xff", 1234};
  manifest.directories = {"a", "a/b"};
  manifest.files["a/x.sst"] = {7, 100, 1626804832, 0x01020304, Lifetime::kLong};
  manifest.files["a/b/\xc3\xa4\n%"] = {8, 0, 0, 0, Lifetime::kNotSet};
  manifest.complete = true;
  return manifest;
}

TEST(ManifestTest, WhatIsWrittenIsRead) {
  const Manifest manifest = Sample();
  const auto read = ParseManifest(ManifestText(manifest));
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_TRUE(read->header.SameSource(manifest.header));
  EXPECT_EQ(read->header.backup, manifest.header.backup);
  EXPECT_EQ(read->files, manifest.files);
  EXPECT_EQ(read->directories, manifest.directories);
  EXPECT_TRUE(read->complete);
}

TEST(ManifestTest, ATornLastLineIsAnUnfinishedBackup) {
  const std::string text = ManifestText(Sample());
  for (std::size_t cut = text.rfind("{\"type\":\"end\""); cut < text.size(); ++cut) {
    const auto read = ParseManifest(text.substr(0, cut));
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_FALSE(read->complete);
    EXPECT_EQ(read->files.size(), 2u);
  }
}

TEST(ManifestTest, TheLastLineOfAPathCounts) {
  Manifest manifest = Sample();
  manifest.complete = false;
  const std::string text = ManifestText(manifest) + ManifestLine("a/x.sst", {9, 5, 6, 7, Lifetime::kShort});
  EXPECT_EQ(ParseManifest(text)->files.at("a/x.sst").id, 9u);
}

TEST(ManifestTest, ALostLineDoesNotGoUnnoticed) {
  std::string text = ManifestText(Sample());
  const std::size_t from = text.find("{\"type\":\"file\"");
  text.erase(from, text.find('\n', from) + 1 - from);
  const auto read = ParseManifest(text);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code(), Code::kCorruption);
  EXPECT_THAT(read.error().text(), HasSubstr("line 5"));
}

TEST(ManifestTest, ALaterVersionIsNotGuessedAt) {
  std::string text = ManifestText(Sample());
  text.replace(text.find("\"version\":1"), 11, "\"version\":3");
  EXPECT_EQ(ParseManifest(text).error().code(), Code::kNotSupported);
}

TEST(ManifestTest, PathsOutsideTheDirectoryAreDamage) {
  for (const char* path : {"../x", "/x", "a/../x", "a//x", "", ".", "a/"}) {
    Manifest manifest = Sample();
    manifest.files[path] = {};
    EXPECT_FALSE(ParseManifest(ManifestText(manifest)).has_value()) << path;
  }
}

RC_GTEST_PROP(ManifestTest, AnyChangedByteIsReadOrRefused, (std::uint32_t place, char byte)) {
  std::string text = ManifestText(Sample());
  text[place % text.size()] = byte;
  const auto read = ParseManifest(text);
  if (!read) RC_ASSERT(!read.error().text().empty());
}

RC_GTEST_PROP(PathTextTest, EveryPathComesBack, (const std::string& path)) {
  const std::string text = EncodePathText(path);
  for (const char c : text)
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f);
  RC_ASSERT(DecodePathText(text) == path);
}

TEST(ManifestTest, APathThatNoVolumeTakesIsDamageAndItsLineIsNamed) {
  const auto parse = [](const std::string& path, bool as_file) {
    Manifest manifest = Sample();
    manifest.directories = {"a"};
    manifest.files.clear();
    if (as_file) {
      manifest.files[path] = {};
    } else {
      manifest.directories.insert(path);
    }
    return ParseManifest(ManifestText(manifest));
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
    EXPECT_EQ(deep.error().text(), "line 3: its path has 4097 bytes; the limit is 4095");
    const auto broad = parse(wide + "b", as_file);
    ASSERT_FALSE(broad.has_value());
    EXPECT_EQ(broad.error().text(), "line 3: a name in its path has 256 bytes; the limit is 255");
  }
}

TEST(PathTextTest, HalfAnEscapeIsRefused) {
  EXPECT_EQ(DecodePathText("a%"), std::nullopt);
  EXPECT_EQ(DecodePathText("a%4"), std::nullopt);
  EXPECT_EQ(DecodePathText("a%4g"), std::nullopt);
  EXPECT_EQ(DecodePathText("a%41"), "aA");
}

TEST(ManifestTest, MissingFilesAreListedInALaterVersion) {
  Manifest manifest;
  manifest.header = {Uuid::Generate(), Uuid::Generate(), "", 1};
  manifest.complete = true;
  EXPECT_THAT(ManifestText(manifest), HasSubstr("\"version\":1"));
  manifest.missing["short %"] = "File name too long";
  manifest.missing[std::string(100'000, '\xff')] = "File name too long";
  const std::string text = ManifestText(manifest);
  EXPECT_THAT(text, HasSubstr("\"version\":2"));
  const auto read = ParseManifest(text);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(read->missing.size(), 2u);
  EXPECT_EQ(read->missing.at("short %"), "File name too long");
}

}  // namespace
}  // namespace zenfs
