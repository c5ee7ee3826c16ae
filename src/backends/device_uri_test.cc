#include "backends/device_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Error ErrorOf(std::string_view text) {
  const auto uri = ParseDeviceUri(text);
  return uri ? Error(Code::kExists, "accepted") : uri.error();
}

TEST(DeviceUriTest, SchemeIsOptional) {
  for (const char* text : {"zenfs://emu:/tmp/a.img", "emu:/tmp/a.img"}) {
    const auto uri = ParseDeviceUri(text);
    ASSERT_TRUE(uri) << uri.error().text();
    EXPECT_EQ(uri->kind, "emu");
    EXPECT_EQ(uri->target, "/tmp/a.img");
    EXPECT_TRUE(uri->options.empty());
  }
}

TEST(DeviceUriTest, OptionsAreKeysWithValuesOrBare) {
  const auto uri = ParseDeviceUri("zenfs://emu:a?ro,latency_us:10,aux_path:/x:y");
  ASSERT_TRUE(uri) << uri.error().text();
  EXPECT_THAT(uri->options, ElementsAre(Pair("ro", ""), Pair("latency_us", "10"), Pair("aux_path", "/x:y")));
  EXPECT_TRUE(ParseDeviceUri("emu:a?")->options.empty());
}

TEST(DeviceUriTest, CharactersThatRocksDbWouldEatAreExplained) {
  for (const char* text : {"emu:a?latency_us=10", "emu:a?ro;latency_us:10"}) {
    EXPECT_EQ(ErrorOf(text).code(), Code::kInvalidArgument);
    EXPECT_THAT(ErrorOf(text).text(), HasSubstr("key:value,key:value"));
  }
  EXPECT_EQ(ParseDeviceUri("emu:/tmp/a=b;c.img")->target, "/tmp/a=b;c.img") << "a path may have them";
}

TEST(DeviceUriTest, MalformedOptionsAreErrors) {
  EXPECT_THAT(ErrorOf("emu:a?ro,ro").text(), HasSubstr("'ro' is given twice"));
  EXPECT_EQ(ErrorOf("emu:a?ro,ro:1").code(), Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf("emu:a?ro,").code(), Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf("emu:a?,ro").code(), Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf("emu:a?ro,,x").code(), Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf("emu:a?:1").code(), Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf("emu:a?R O").code(), Code::kInvalidArgument);
}

TEST(DeviceUriTest, FourKindsAreKnown) {
  for (const char* text :
       {"zenfs://dev:nvme0n1", "zenfs://zonefs:/mnt/z", "zenfs://uuid:1234?ro", "zenfs://emu:a"}) {
    EXPECT_TRUE(ParseDeviceUri(text)) << text;
  }
  EXPECT_EQ(ParseDeviceUri("dev:mapper/x?ro")->target, "mapper/x");
}

TEST(DeviceUriTest, EverythingElseNamesTheForm) {
  for (const char* text : {"", "a.img", "/tmp/a.img", "zenfs://", "zenfs:///tmp/a.img", "emu:", "emu:?ro",
                           "zenfs://emu:", "tape:0", ":a", "http://emu:a", "?emu:a"}) {
    EXPECT_EQ(ErrorOf(text).code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(ErrorOf(text).text(), AllOf(HasSubstr("zenfs://dev:NAME"), HasSubstr("zenfs://zonefs:MOUNT"),
                                            HasSubstr("zenfs://uuid:UUID"), HasSubstr("zenfs://emu:PATH")))
        << text;
  }
  EXPECT_THAT(ErrorOf("http://emu:a").text(), HasSubstr("'http'"));
  EXPECT_THAT(ErrorOf("tape:0").text(), HasSubstr("'tape'"));
}

TEST(DeviceUriTest, MisspeltSchemesNameTheRightUri) {
  EXPECT_TRUE(CheckScheme("zenfs://emu:/a.img").ok());
  for (const char* text :
       {"emu:/a.img?ro", "zenfs:emu:/a.img?ro", "zenfs:/emu:/a.img?ro", "ZenFS://emu:/a.img?ro"}) {
    const Status checked = CheckScheme(text);
    ASSERT_FALSE(checked.ok()) << text;
    EXPECT_EQ(checked.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(checked.error().text(), HasSubstr("the URI is zenfs://emu:/a.img?ro"));
  }
  for (const char* text : {"", "zenfs", "posix://", "zenf://emu:/a.img", "/a.img"}) {
    const Status checked = CheckScheme(text);
    ASSERT_FALSE(checked.ok()) << text;
    EXPECT_THAT(checked.error().text(), HasSubstr("the form is zenfs://")) << text;
  }
}

TEST(DeviceUriTest, SpellingsOfOneDeviceAreEqual) {
  TempDirectory directory;
  const std::string target = directory.File("a.img");
  std::filesystem::create_directory(directory.File("d"));
  std::filesystem::create_symlink(target, directory.File("link"));
  const auto canonical = [](const std::string& text) { return Canonical(ParseDeviceUri(text).value()); };
  EXPECT_EQ(canonical("emu:" + directory.File("d/../a.img")), canonical("zenfs://emu:" + target + "?ro"));
  EXPECT_EQ(canonical("emu:" + directory.File("./a.img")), canonical("emu:" + target));
  std::filesystem::create_directory(target);  // now it exists, behind links
  EXPECT_EQ(canonical("emu:" + directory.File("link")), canonical("emu:" + target));
  EXPECT_NE(canonical("emu:" + directory.File("b.img")), canonical("emu:" + target));
  EXPECT_EQ(canonical("emu:no-such.img"),
            "emu:" + (std::filesystem::current_path() / "no-such.img").string());
}

TEST(DeviceUriTest, EveryKindHasOneSpelling) {
  TempDirectory directory;
  std::filesystem::create_directory(directory.File("mount"));
  std::filesystem::create_symlink(directory.File("mount"), directory.File("link"));
  std::filesystem::create_symlink("/dev/null", directory.File("by-id"));
  const auto canonical = [](const std::string& text) { return Canonical(ParseDeviceUri(text).value()); };
  EXPECT_EQ(canonical("zonefs:" + directory.File("link/")), canonical("zonefs:" + directory.File("mount")));
  EXPECT_EQ(canonical("dev:null"), "dev:/dev/null");
  EXPECT_EQ(canonical("dev:/dev/null"), "dev:/dev/null");
  EXPECT_EQ(canonical("dev:" + directory.File("by-id") + "?ro"), "dev:/dev/null");
  EXPECT_EQ(canonical("uuid:01234567-89AB-4CDE-8F01-23456789abcd"),
            "uuid:01234567-89ab-4cde-8f01-23456789abcd");
}

TEST(DeviceUriTest, MissingPathsHaveOneSpelling) {
  for (const char* spelling : {"/nowhere/at/..", "/nowhere/", "/nowhere/.", "/x/../nowhere"}) {
    EXPECT_EQ(Canonical({.kind = "emu", .target = spelling, .options = {}}), "emu:/nowhere") << spelling;
  }
  EXPECT_EQ(Canonical({.kind = "emu", .target = "/nowhere/..", .options = {}}), "emu:/");
}

}  // namespace
}  // namespace zenfs
