#include "base/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

TEST(TextFileTest, TextAndPermissionsAreRead) {
  const TempDirectory directory;
  const std::string path = directory.File("text");
  std::ofstream(path) << "one\ntwo\n";
  ASSERT_EQ(::chmod(path.c_str(), 0646), 0);
  const Result<TextFile> file = ReadTextFile(path, "list");
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  EXPECT_EQ(file->text, "one\ntwo\n");
  EXPECT_EQ(file->stat.mode, 0646u);
  EXPECT_EQ(ReadTextFile("/dev/null", "list")->text, "");
}

TEST(TextFileTest, AnythingElseIsAnErrorWithItsPath) {
  const TempDirectory directory;
  const std::string long_file = directory.File("long");
  std::ofstream(long_file) << std::string((1 << 20) + 1, 'x');
  const std::string pipe = directory.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string none = directory.File("none");
  EXPECT_EQ(ReadTextFile(long_file, "list").error().ToString(), long_file + ": too long for a list");
  EXPECT_EQ(ReadTextFile(pipe, "list").error().ToString(),
            pipe + ": a list is a regular file, not a device or a pipe");
  EXPECT_EQ(ReadTextFile(directory.path(), "list").error().ToString(),
            directory.path() + ": a list is a file, not a directory");
  EXPECT_EQ(ReadTextFile(none, "list").error().ToString(), none + ": the list: No such file or directory");
}

}  // namespace
}  // namespace zenfs
