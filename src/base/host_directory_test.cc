#include "base/host_directory.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/sync_point.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

template <typename Outcome>
Code HostCodeOf(const Outcome& result) {
  return result.ok() ? Code::kShutdown : result.error().code();  // no call returns kShutdown
}

// With openat2 and without it.
auto Write(std::string_view text) {
  return [text](HostFile& file) { return file.Append(AsBytes(text)); };
}

class HostDirectoryTest : public testing::TestWithParam<bool> {
 protected:
  HostDirectoryTest() {
    if (!GetParam()) walk_.emplace();
    fs::create_directories(top_ + "/a/b");
    fs::create_directories(outside_ + "/b");
    Put(top_ + "/a/b/file", "inside");
    Put(outside_ + "/b/file", "outside");
    auto opened = HostDirectory::Open(top_);
    EXPECT_TRUE(opened.has_value());
    directory_.emplace(*std::move(opened));
  }
  static void Put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat st{};
    EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
    return st.st_mode & 07777;
  }
  void Divert() {
    fs::rename(top_ + "/a", top_ + "/moved");
    fs::create_directory_symlink(outside_, top_ + "/a");
  }

  std::optional<HostDirectory::WithoutOpenat2ForTests> walk_;
  TempDirectory temporary_;
  const std::string top_ = temporary_.File("top");
  const std::string outside_ = temporary_.File("outside");
  std::optional<HostDirectory> directory_;
};

INSTANTIATE_TEST_SUITE_P(Ways, HostDirectoryTest, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "Openat2" : "ByComponent"; });

TEST_P(HostDirectoryTest, NothingIsReachedThroughALink) {
  Divert();
  const HostDirectory& d = *directory_;
  const std::vector<Code> codes = {HostCodeOf(d.Stat("a/b/file")),
                                   HostCodeOf(d.OpenForRead("a/b/file")),
                                   HostCodeOf(d.List("a")),
                                   HostCodeOf(d.List("a/b")),
                                   HostCodeOf(d.Create("a/b/file", 0600)),
                                   HostCodeOf(d.CreateNew("a/b/new", 0600)),
                                   HostCodeOf(d.Replace("a/b/file", "temporary", 0600, Write("text"))),
                                   HostCodeOf(d.MakeDirectory("a", 0700)),
                                   HostCodeOf(d.MakeDirectory("a/c", 0700)),
                                   HostCodeOf(d.Rename("moved/b/file", "a/b/file")),
                                   HostCodeOf(d.Rename("a/b/file", "moved/b/file")),
                                   HostCodeOf(d.RemoveFile("a/b/file")),
                                   HostCodeOf(d.RemoveDirectory("a")),
                                   HostCodeOf(d.RemoveDirectory("a/b")),
                                   HostCodeOf(d.Sync("a/b"))};
  EXPECT_THAT(codes, testing::Each(Code::kNotADirectory));
  const auto refused = d.Stat("a/b/file");
  EXPECT_EQ(refused.error().text(), top_ + "/a is a symbolic link, which is not followed");
  EXPECT_EQ(Text(outside_ + "/b/file"), "outside");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside_ + "/b"), {}), 1);
  EXPECT_EQ(Text(top_ + "/moved/b/file"), "inside");
}

TEST_P(HostDirectoryTest, ALinkItselfIsSeenRemovedAndReplaced) {
  fs::create_symlink(outside_ + "/b/file", top_ + "/link");
  EXPECT_EQ(directory_->Stat("link")->kind, HostStat::Kind::kSymlink);
  EXPECT_EQ(HostCodeOf(directory_->OpenForRead("link")), Code::kInvalidArgument);
  EXPECT_EQ(HostCodeOf(directory_->CreateNew("link", 0600)), Code::kExists);
  auto created = directory_->Create("link", 0600);
  ASSERT_TRUE(created.has_value());
  ASSERT_TRUE(created->Append(AsBytes("new")).ok());
  EXPECT_EQ(Text(top_ + "/link"), "new");
  EXPECT_EQ(Text(outside_ + "/b/file"), "outside");
  fs::create_symlink(outside_ + "/b/file", top_ + "/other");
  ASSERT_TRUE(directory_->RemoveFile("other").ok());
  EXPECT_TRUE(fs::exists(outside_ + "/b/file"));
}

TEST_P(HostDirectoryTest, PathsThatLeadOutAreRefused) {
  for (const std::string path :
       {"", "..", "../outside/b/file", "a/../../outside", "/etc/passwd", "a//b", "./a", "a/"}) {
    EXPECT_EQ(HostCodeOf(directory_->Stat(path)), Code::kInvalidArgument) << path;
    EXPECT_EQ(HostCodeOf(directory_->RemoveFile(path)), Code::kInvalidArgument) << path;
  }
  EXPECT_EQ(HostCodeOf(directory_->Stat(std::string("a\0b", 3))), Code::kInvalidArgument);
}

TEST_P(HostDirectoryTest, TheOpenDirectoryIsUsedAfterItsNameIsTakenByAnother) {
  EXPECT_TRUE(directory_->CheckStillNamed().ok());
  fs::rename(top_, temporary_.File("moved"));
  fs::create_directory_symlink(outside_, top_);
  ASSERT_TRUE(directory_->Create("new", 0600).has_value());
  EXPECT_TRUE(fs::exists(temporary_.File("moved/new")));
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
  const Status moved = directory_->CheckStillNamed();
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().text(), HasSubstr(top_ + " was moved or replaced"));
}

TEST_P(HostDirectoryTest, PipesSocketsAndDevicesAreNotOpened) {
  ASSERT_EQ(::mkfifo((top_ + "/pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(top_ + "/socket", address.sun_path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  for (const char* name : {"pipe", "socket", "a"}) {
    const auto refused = directory_->OpenForRead(name);
    ASSERT_EQ(HostCodeOf(refused), Code::kInvalidArgument) << name;
    EXPECT_THAT(refused.error().text(), HasSubstr(top_ + "/" + name + " is a directory or device"));
  }
  const auto devices = HostDirectory::Open("/dev");
  ASSERT_TRUE(devices.has_value());
  EXPECT_EQ(HostCodeOf(devices->OpenForRead("null")), Code::kInvalidArgument);
  EXPECT_EQ(HostCodeOf(HostDirectory::Open(top_ + "/pipe")), Code::kNotADirectory);
}

TEST_P(HostDirectoryTest, ModesDoNotDependOnTheUmask) {
  const mode_t before = ::umask(0077);
  ASSERT_TRUE(directory_->CreateNew("a/private", 0600).has_value());
  ASSERT_TRUE(directory_->Replace("a/shared", "a/temporary", 0640, Write("text")).has_value());
  ASSERT_TRUE(directory_->MakeDirectory("a/own", 0700).ok());
  ASSERT_TRUE(directory_->MakeDirectory("a/group", 0750).ok());
  ASSERT_TRUE(HostDirectory::OpenOrMake(top_ + "/made", 0755).has_value());
  ::umask(before);
  EXPECT_EQ(ModeOf(top_ + "/a/private"), 0600u);
  EXPECT_EQ(ModeOf(top_ + "/a/shared"), 0640u);
  EXPECT_EQ(ModeOf(top_ + "/a/own"), 0700u);
  EXPECT_EQ(ModeOf(top_ + "/a/group"), 0750u);
  EXPECT_EQ(ModeOf(top_ + "/made"), 0755u);
  ASSERT_TRUE(directory_->MakeDirectory("a/group", 0700).ok());
  EXPECT_EQ(ModeOf(top_ + "/a/group"), 0750u);
}

TEST_P(HostDirectoryTest, ALinkThatTakesTheNameOfAMadeDirectoryIsNotFollowed) {
  fs::create_directory(top_ + "/victim");
  ::chmod((top_ + "/victim").c_str(), 0700);
  const SyncPoint::Scope exchange([&](std::string_view) {
    fs::remove(top_ + "/made");
    fs::create_directory_symlink(top_ + "/victim", top_ + "/made");
  });
  const auto opened = HostDirectory::OpenOrMake(top_ + "/made", 0777);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), Code::kNotADirectory);
  EXPECT_EQ(ModeOf(top_ + "/victim"), 0700u);
}

TEST_P(HostDirectoryTest, ADirectoryOfAnotherUserThatTakesTheNameOfAMadeOneIsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's directory needs root";
  const SyncPoint::Scope exchange(
      [&](std::string_view) { ASSERT_EQ(::chown((top_ + "/made").c_str(), 65534, 65534), 0); });
  EXPECT_EQ(HostDirectory::OpenOrMake(top_ + "/made", 0777).error().code(), Code::kPermission);
}

TEST_P(HostDirectoryTest, StatAndRemovalOfMissingNamesAreNoErrors) {
  EXPECT_EQ(directory_->Stat("no/such/file")->kind, HostStat::Kind::kMissing);
  EXPECT_TRUE(directory_->RemoveFile("no/such/file").ok());
  EXPECT_TRUE(directory_->RemoveDirectory("no/such").ok());
  EXPECT_EQ(HostCodeOf(directory_->OpenForRead("no/such/file")), Code::kNotFound);
  EXPECT_EQ(HostCodeOf(directory_->Stat(std::string(5000, 'x'))), Code::kIo);
}

TEST_P(HostDirectoryTest, ADirectoryIsOwnUnlessOthersMayReplaceWhatIsInIt) {
  const std::string inner = top_ + "/a/b";
  const auto stat = [&] { return *directory_->Stat("a/b"); };
  EXPECT_TRUE(IsOwnDirectory(stat()));
  ASSERT_EQ(::chmod(inner.c_str(), 0777), 0);
  EXPECT_FALSE(IsOwnDirectory(stat()));
  ASSERT_EQ(::chmod(inner.c_str(), 01777), 0);
  EXPECT_TRUE(IsOwnDirectory(stat()));
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's directory needs root";
  ASSERT_EQ(::chown(inner.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(IsOwnDirectory(stat()));
}

TEST_P(HostDirectoryTest, NoOtherUserCanExchangeATrustedDirectory) {
  const std::string inner = top_ + "/a/b";
  const auto refusal = [&](const std::string& path) {
    const auto opened = HostDirectory::OpenTrusted(path);
    return opened ? "" : opened.error().text();
  };
  ASSERT_EQ(refusal(inner), "");
  EXPECT_EQ(HostDirectory::OpenTrusted(inner)->PathOf("file"), inner + "/file");
  EXPECT_EQ(refusal("/"), "");
  fs::create_symlink(top_ + "/a", top_ + "/link");
  EXPECT_THAT(refusal(top_ + "/link/b"), HasSubstr(top_ + "/link is a symbolic link"));
  EXPECT_THAT(refusal(inner + "/file"), HasSubstr(inner + "/file is not a directory"));
  EXPECT_THAT(refusal(top_ + "/none/b"), HasSubstr(top_ + "/none"));
  for (const std::string& path :
       {top_ + "/a/../a", top_ + "//a", top_ + "/a/", std::string("a"), std::string()}) {
    EXPECT_NE(refusal(path), "") << path;
  }
  ASSERT_EQ(::chmod((top_ + "/a").c_str(), 0777), 0);
  EXPECT_THAT(refusal(inner), HasSubstr(top_ + "/a belongs to another user or is writable by all"));
  ASSERT_EQ(::chmod((top_ + "/a").c_str(), 01777), 0);
  EXPECT_EQ(refusal(inner), "");
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's directory needs root";
  for (const std::string& path : {inner, top_ + "/a"}) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_THAT(refusal(inner), HasSubstr(path + " belongs to another user"));
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
}

TEST_P(HostDirectoryTest, MissingDirectoriesAreMadeOnTheWay) {
  std::vector<std::string> made;
  ASSERT_TRUE(directory_->EnterTrusted("a/new/deep", 0755, &made).has_value());
  EXPECT_THAT(made, ElementsAre(top_ + "/a/new", top_ + "/a/new/deep"));
  EXPECT_EQ(directory_->Stat("a/new/deep")->mode, 0755);
  EXPECT_EQ(HostCodeOf(directory_->EnterTrusted("a/b/file/x", 0755)), Code::kNotADirectory);
  EXPECT_EQ(HostCodeOf(directory_->EnterTrusted("a/missing")), Code::kNotFound);
  EXPECT_EQ(HostCodeOf(directory_->EnterTrusted("../x", 0755)), Code::kInvalidArgument);
}

TEST_P(HostDirectoryTest, AFileIsRenamedAndLinkedIntoAnotherDirectory) {
  const auto target = directory_->EnterTrusted("new", 0755);
  ASSERT_TRUE(target.has_value());
  ASSERT_TRUE(directory_->LinkTo("a/b/file", *target, "linked").ok());
  EXPECT_EQ(HostCodeOf(directory_->LinkTo("a/b/file", *target, "linked")), Code::kExists);
  ASSERT_TRUE(directory_->RenameTo("a/b/file", *target, "moved").ok());
  EXPECT_EQ(directory_->Stat("a/b/file")->kind, HostStat::Kind::kMissing);
  EXPECT_THAT(*target->List(""), ElementsAre("linked", "moved"));
}

TEST_P(HostDirectoryTest, AReplacedFileCanBeAppendedTo) {
  auto file = directory_->Replace("a/text", "temporary", 0600, Write("one"));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->path(), top_ + "/a/text");
  fs::rename(top_ + "/a/text", top_ + "/a/renamed");
  ASSERT_TRUE(file->Append(AsBytes("two")).ok());
  EXPECT_EQ(Text(top_ + "/a/renamed"), "onetwo");
  EXPECT_THAT(*directory_->List("a"), ElementsAre("b", "renamed"));
  EXPECT_THAT(*directory_->List(""), ElementsAre("a"));
}

TEST_P(HostDirectoryTest, ThePathOfAFileMayGoThroughLinksAboveIt) {
  fs::create_directory_symlink(top_ + "/a", temporary_.File("way"));
  std::string name;
  const auto parent = HostDirectory::OpenParentOf(temporary_.File("way/b"), name);
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(name, "b");
  EXPECT_EQ(parent->Stat("b")->kind, HostStat::Kind::kDirectory);
  EXPECT_EQ(HostCodeOf(HostDirectory::OpenParentOf("a/", name)), Code::kInvalidArgument);
  EXPECT_EQ(HostCodeOf(HostDirectory::OpenParentOf("a/..", name)), Code::kInvalidArgument);
}

}  // namespace
}  // namespace zenfs
