#include "base/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/sync_point.h"
#include "testing/lower_file_size_limit.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kSomebodyElse = 65534;

class OutputFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.File(name); }

  static std::string Text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static void Put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_.path()), {}));
  }

  Status Replace(const std::string& path, std::string_view text) {
    ZENFS_ASSIGN_OR_RETURN(NewOutput file, NewOutput::Begin(path, NewOutput::Place::kReplace, 0644));
    ZENFS_RETURN_IF_ERROR(file.KeepModeAndOwner());
    ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(text)));
    return file.Publish();
  }

  // Neither way to write to `path` does anything, and both say `why`.
  void ExpectRefused(const std::string& path, Code code, const std::string& why) {
    const std::size_t files = Files();
    const Status replaced = Replace(path, "new");
    ASSERT_FALSE(replaced.ok()) << path;
    EXPECT_EQ(replaced.error().code(), code);
    EXPECT_THAT(replaced.error().ToString(), HasSubstr(why));
    for (const OutputUse use : {OutputUse::kAppend, OutputUse::kOverwrite}) {
      const auto opened = OpenOutput(path, use);
      ASSERT_FALSE(opened.ok()) << path;
      EXPECT_EQ(opened.error().code(), code);
      EXPECT_THAT(opened.error().ToString(), HasSubstr(why));
    }
    EXPECT_FALSE(OpenExistingOutput(path).ok());
    EXPECT_EQ(Files(), files);
  }

  TempDirectory directory_;
};

TEST_F(OutputFileTest, ANewFileHasItsNameOnlyOnceItIsComplete) {
  {
    auto file = NewOutput::Begin(Path("a"), NewOutput::Place::kNew, 0600);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Append(AsBytes(std::string_view("new"))).ok());
    EXPECT_FALSE(fs::exists(Path("a")));
  }
  EXPECT_EQ(Files(), 0u) << "without Publish nothing stays";
  ASSERT_TRUE(Replace(Path("a"), "new").ok());
  EXPECT_EQ(Text(Path("a")), "new");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, AFileIsReplacedAndItsOtherNamesKeepTheOldContent) {
  Put(Path("a"), "old");
  ASSERT_EQ(::chmod(Path("a").c_str(), 0640), 0);
  fs::create_hard_link(Path("a"), Path("b"));
  ASSERT_TRUE(Replace(Path("a"), "new").ok());
  EXPECT_EQ(Text(Path("a")), "new");
  EXPECT_EQ(Text(Path("b")), "old");
  EXPECT_EQ(fs::status(Path("a")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(OutputFileTest, AReplacementThatFailsLeavesTheOldFile) {
  Put(Path("a"), "old");
  const LowerFileSizeLimit limit(1);
  const Status written = Replace(Path("a"), "new");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().ToString(), testing::AllOf(HasSubstr(Path("a")), HasSubstr("File too large")));
  EXPECT_EQ(Text(Path("a")), "old");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, AFileMadeMeanwhileIsKept) {
  auto file = NewOutput::Begin(Path("a"), NewOutput::Place::kNew, 0600);
  ASSERT_TRUE(file.ok());
  Put(Path("a"), "quicker");
  EXPECT_EQ(file->Publish().error().code(), Code::kExists);
  EXPECT_EQ(NewOutput::Begin(Path("a"), NewOutput::Place::kNew, 0600).error().code(), Code::kExists);
  EXPECT_EQ(Text(Path("a")), "quicker");
}

TEST_F(OutputFileTest, ALongNameCanBeMadeAndReplaced) {
  const std::string name(255, 'n');
  ASSERT_TRUE(Replace(Path(name), "old").ok());
  ASSERT_TRUE(Replace(Path(name), "new").ok());
  EXPECT_EQ(Text(Path(name)), "new");
}

TEST_F(OutputFileTest, ALinkIsNotFollowed) {
  Put(Path("victim"), "precious");
  fs::create_symlink("victim", Path("link"));
  ExpectRefused(Path("link"), Code::kInvalidArgument, "symbolic link, which is not followed");
  fs::create_symlink("nothing", Path("dangling"));
  ExpectRefused(Path("dangling"), Code::kInvalidArgument, "symbolic link, which is not followed");
  EXPECT_EQ(Text(Path("victim")), "precious");
  EXPECT_FALSE(fs::exists(Path("nothing")));
}

TEST_F(OutputFileTest, ALinkThatTakesTheNameMeanwhileIsNotFollowed) {
  Put(Path("victim"), "precious");
  Put(Path("file"), "own");
  const SyncPoint::Scope exchange([&](std::string_view) {
    fs::remove(Path("file"));
    fs::create_symlink("victim", Path("file"));
  });
  EXPECT_FALSE(OpenExistingOutput(Path("file")).ok());
}

TEST_F(OutputFileTest, APipeIsNotOpenedSoItsOtherEndWaitsOn) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  ExpectRefused(Path("pipe"), Code::kInvalidArgument, "not a regular file");
  // Without a reader, a writer that does not wait is refused; with one it would have been let in.
  EXPECT_EQ(::open(Path("pipe").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
  EXPECT_EQ(errno, ENXIO);
}

TEST_F(OutputFileTest, ADeviceADirectoryAndNoNameAreRefused) {
  EXPECT_EQ(OpenOutput("/dev/null", OutputUse::kAppend).error().code(), Code::kInvalidArgument);
  fs::create_directory(Path("directory"));
  ExpectRefused(Path("directory"), Code::kInvalidArgument, "a directory");
  ExpectRefused(Path("directory/"), Code::kInvalidArgument, "does not name a file");
  ExpectRefused("", Code::kInvalidArgument, "does not name a file");
  ExpectRefused(Path("no/such"), Code::kNotFound, "No such file");
}

TEST_F(OutputFileTest, AnotherUsersFileInASharedDirectoryIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  Put(Path("theirs"), "theirs");
  ASSERT_EQ(::chown(Path("theirs").c_str(), kSomebodyElse, static_cast<gid_t>(-1)), 0);
  for (const mode_t mode : {01777, 01770, 0777}) {
    ASSERT_EQ(::chmod(directory_.path().c_str(), mode), 0);
    ExpectRefused(Path("theirs"), Code::kPermission, "belongs to user 65534");
  }
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  EXPECT_TRUE(OpenOutput(Path("theirs"), OutputUse::kAppend).ok());
  ASSERT_TRUE(Replace(Path("theirs"), "new").ok());
  struct stat st{};
  ASSERT_EQ(::stat(Path("theirs").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, kSomebodyElse) << "the owner stays";
}

TEST_F(OutputFileTest, AFileWithASecondNameInASharedDirectoryIsRefused) {
  Put(Path("own"), "own");
  fs::create_hard_link(Path("own"), Path("planted"));
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);
  ExpectRefused(Path("planted"), Code::kPermission, "has 2 names");
  EXPECT_EQ(Text(Path("own")), "own");
}

TEST_F(OutputFileTest, AFileIsContinuedOrOverwrittenInPlace) {
  {
    const auto made = OpenOutput(Path("a"), OutputUse::kAppend);
    ASSERT_TRUE(made.ok());
    ASSERT_EQ(::write(made->get(), "one", 3), 3);
  }
  EXPECT_EQ(fs::status(Path("a")).permissions(), static_cast<fs::perms>(0600));
  const auto appended = OpenOutput(Path("a"), OutputUse::kAppend);
  ASSERT_TRUE(appended.ok());
  ASSERT_EQ(::write(appended->get(), "two", 3), 3);
  EXPECT_EQ(Text(Path("a")), "onetwo");
  const auto overwritten = OpenOutput(Path("a"), OutputUse::kOverwrite);
  ASSERT_TRUE(overwritten.ok());
  ASSERT_EQ(::pwrite(overwritten->get(), "ONE", 3, 0), 3);
  EXPECT_EQ(Text(Path("a")), "ONEtwo");
}

}  // namespace
}  // namespace zenfs
