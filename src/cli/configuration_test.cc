#include "cli/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/environment.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConfigurationTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_.File(name);
    std::ofstream(path) << text;
    return path;
  }

  // The error of a file with this text.
  std::string ErrorOf(const std::string& text) {
    const auto read = ReadConfiguration({Write("zenfs.conf", text)});
    return read ? "(no error)" : read.error().ToString();
  }

  // The beginning of each error: file and line.
  std::string At(int line) const { return directory_.File("zenfs.conf") + ":" + std::to_string(line) + ": "; }

  const TempDirectory directory_;
};

TEST_F(ConfigurationTest, EveryKeyIsRead) {
  const std::string path = Write("zenfs.conf",
                                 "# comment\n"
                                 "default_volume = \"main\"\n"
                                 "flush_dir = \"/mnt/tmpfs\"\n"
                                 "\n"
                                 "[exporter]\n"
                                 "listen = \"0.0.0.0:9817\"\n"
                                 "\n"
                                 "[volumes]\n"
                                 "main = \"zenfs://dev:nvme0n1\"\n"
                                 "trial-1.a = \"emu:/var/tmp/device.img?ro\"  # a table of TOML\n"
                                 "trial-2 = 'emu:/var/tmp/device.img?ro'\n");
  // A dot in a key makes a section, so such a name needs quotes.
  EXPECT_THAT(ReadConfiguration({path}).error().ToString(), HasSubstr(":10: volumes.trial-1: is not text"));
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  text.replace(text.find("trial-1.a"), 9, "\"trial-1.a\"");
  const auto read = ReadConfiguration({Write("zenfs.conf", text)});
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read->default_volume->value, "main");
  EXPECT_EQ(read->flush_directory->value, "/mnt/tmpfs");
  EXPECT_EQ(read->listen->value, "0.0.0.0:9817");
  EXPECT_EQ(read->listen->Place(), path + ":6: exporter.listen");
  ASSERT_EQ(read->volumes.size(), 3u);
  EXPECT_EQ(read->volumes.at("main").setting.Place(), path + ":9: volumes.main");
  EXPECT_EQ(read->Find("main")->kind, "dev");
  EXPECT_EQ(read->Find("main")->target, "nvme0n1");
  EXPECT_EQ(read->Find("trial-1.a")->options.size(), 1u);
  EXPECT_EQ(read->Find("trial-2")->target, "/var/tmp/device.img");
}

TEST_F(ConfigurationTest, TheFirstFileWithAKeyWins) {
  const std::string user = Write("user",
                                 "default_volume = \"b\"\n"
                                 "[volumes]\n"
                                 "a = \"dev:user\"\n");
  const std::string host = Write("host",
                                 "default_volume = \"a\"\n"
                                 "flush_dir = \"none\"\n"
                                 "[volumes]\n"
                                 "a = \"dev:host\"\n"
                                 "b = \"dev:other\"\n");
  const auto read = ReadConfiguration({user, directory_.File("missing"), host});
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read->default_volume->value, "b");
  EXPECT_EQ(read->flush_directory->value, "none");
  EXPECT_EQ(read->Find("a")->target, "user");
  EXPECT_EQ(read->Find("b")->target, "other");
}

TEST_F(ConfigurationTest, WithoutFilesNothingIsConfigured) {
  const std::string missing = directory_.File("missing");
  for (const auto& read :
       {ReadConfiguration({}), ReadConfiguration({missing}), ReadConfiguration({"/dev/null"})}) {
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->volumes.empty());
    EXPECT_FALSE(read->default_volume || read->flush_directory || read->listen);
  }
  EXPECT_EQ(ReadConfiguration({missing})->Find("main").error().text(),
            "no volume is named 'main': none is configured in " + missing);
}

TEST_F(ConfigurationTest, AnUnknownVolumeListsTheKnownOnes) {
  const auto read = ReadConfiguration({Write("zenfs.conf", "[volumes]\nb = \"dev:b\"\na = \"dev:a\"\n")});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->Find("c").error().text(), "no volume is named 'c'; known: a, b");
  EXPECT_EQ(read->Find("c").error().code(), Code::kNotFound);
  EXPECT_EQ(ErrorOf("\ndefault_volume = \"c\"\n[volumes]\na = \"dev:a\"\n"),
            At(2) + "default_volume: no volume is named 'c'; known: a");
}

TEST_F(ConfigurationTest, AnUnknownKeyIsNamedWithTheNearestOne) {
  EXPECT_EQ(ErrorOf("\nflushdir = \"/x\"\n"), At(2) + "flushdir: unknown key, did you mean flush_dir?");
  EXPECT_EQ(ErrorOf("[exporter]\nlistens = \"x\"\n"),
            At(2) + "exporter.listens: unknown key, did you mean exporter.listen?");
  EXPECT_EQ(
      ErrorOf("colour = \"red\"\n"),
      At(1) + "colour: unknown key; the keys are default_volume, flush_dir, exporter.listen, volumes.NAME");
}

TEST_F(ConfigurationTest, ALineThatIsNoTomlIsQuoted) {
  const std::string advice = "; a line is KEY = \"VALUE\", with the quotes";
  EXPECT_EQ(ErrorOf("[volumes]\nmain = dev:nvme0n1\n"),
            At(2) + "main = dev:nvme0n1: could not determine value type" + advice);
  EXPECT_EQ(ErrorOf("flush_dir \"/x\"\n"), At(1) + "flush_dir \"/x\": expected '=', saw '\"'" + advice);
  EXPECT_THAT(ErrorOf("[volumes]\na = \"dev:a\"\na = \"dev:b\"\n"),
              testing::StartsWith(At(3) + "a = \"dev:b\": cannot redefine existing string 'a'"));
  EXPECT_THAT(ErrorOf("flush_dir = \"/x\n"), testing::StartsWith(At(1) + "flush_dir = \"/x: "));
  EXPECT_THAT(ErrorOf("a = \"" + std::string(1000, 'x') + "\" \"\n"),
              testing::Not(HasSubstr(std::string(100, 'x'))));
}

TEST_F(ConfigurationTest, AValueThatCannotBeUsedIsNamedByItsKey) {
  EXPECT_THAT(ErrorOf("flush_dir = 3\n"), testing::StartsWith(At(1) + "flush_dir: is not text"));
  EXPECT_EQ(ErrorOf("flush_dir = \"shm\"\n"),
            At(1) + "flush_dir: 'shm' is neither auto, none nor an absolute path");
  EXPECT_THAT(ErrorOf("flush_dir = \"\"\n"), HasSubstr("flush_dir: the value is empty"));
  EXPECT_THAT(ErrorOf("flush_dir = \"/x\\u0000\"\n"),
              HasSubstr("flush_dir: the value is empty, or has a zero byte"));
  EXPECT_THAT(ErrorOf("volumes = \"dev:a\"\n"), HasSubstr(At(1) + "volumes is a section"));
  EXPECT_THAT(ErrorOf("[volumes]\n\"a/b\" = \"dev:a\"\n"),
              HasSubstr(At(2) + "volumes.a/b: the name of a volume"));
  EXPECT_THAT(ErrorOf("[volumes]\n-a = \"dev:a\"\n"), HasSubstr(At(2) + "volumes.-a: the name of a volume"));
  EXPECT_THAT(ErrorOf("[volumes]\na = \"tape:0\"\n"), HasSubstr(At(2) + "volumes.a: "));
  EXPECT_EQ(ErrorOf("[volumes]\na = \"emu:b.img\"\n"),
            At(2) + "volumes.a: 'b.img' is not an absolute path; write emu:/PATH");
  EXPECT_THAT(ErrorOf("[volumes]\na = \"zonefs:mnt\"\n"), HasSubstr("write zonefs:/PATH"));
}

TEST_F(ConfigurationTest, AFileThatEveryUserMayChangeIsRefusedByRoot) {
  const std::string path = Write("zenfs.conf", "[volumes]\na = \"dev:a\"\n");
  ASSERT_EQ(::chmod(path.c_str(), 0646), 0);
  const auto read = ReadConfiguration({path});
  if (::geteuid() != 0) {
    EXPECT_TRUE(read.ok());
    return;
  }
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), Code::kPermission);
  EXPECT_THAT(read.error().text(), HasSubstr(path + ": every user may change this file"));
}

TEST_F(ConfigurationTest, ADirectoryInPlaceOfTheFileIsAnError) {
  EXPECT_EQ(ReadConfiguration({directory_.path()}).error().ToString(),
            directory_.path() + ": a configuration file is a file, not a directory");
}

TEST(ConfigurationPathsTest, TheUsersFileComesBeforeTheHosts) {
  const std::string kept(EnvironmentVariable("XDG_CONFIG_HOME"));
  ::setenv("XDG_CONFIG_HOME", "/of/user", 1);
  EXPECT_THAT(ConfigurationPaths(), ElementsAre("/of/user/zenfs/zenfs.conf", "/etc/zenfs/zenfs.conf"));
  ::setenv("XDG_CONFIG_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace zenfs
