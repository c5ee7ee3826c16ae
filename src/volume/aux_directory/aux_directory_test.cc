#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/thread.h"
#include "testing/temp_directory.h"
#include "volume/aux_directory/aux_directory.h"

namespace zenfs {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AuxDirectoryTest : public testing::Test {
 protected:
  AuxDirectoryTest() {
    fs::create_directory(top_);
    fs::create_directory(outside_);
    std::ofstream(outside_ + "/LOG") << "precious";
  }
  template <typename Outcome>
  static std::string Refusal(const Outcome& outcome) {
    return outcome.ok() ? "" : outcome.error().ToString();
  }
  void ExpectOutsideUntouched() const {
    std::ifstream file(outside_ + "/LOG");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
    EXPECT_EQ(std::distance(fs::directory_iterator(outside_), {}), 1);
  }

  TempDirectory temporary_;
  const std::string top_ = temporary_.File("aux");
  const std::string outside_ = temporary_.File("outside");
  const AuxDirectory aux_{top_};
};

TEST_F(AuxDirectoryTest, FilesAreMadeRenamedAndRemovedBelowIt) {
  ASSERT_TRUE(aux_.Create("a/db/LOG")->Append(AsBytes("log")).ok());
  ASSERT_TRUE(aux_.Lock("a/db/LOCK").has_value());
  ASSERT_TRUE(aux_.Rename("a/db/LOG", "b/LOG.old.1").ok());
  ASSERT_TRUE(aux_.Link("b/LOG.old.1", "b/LOG.old.2").ok());
  ASSERT_TRUE(aux_.RenameDirectory("b", "c").ok());
  EXPECT_THAT(*aux_.List("c"), ElementsAre(testing::Key("LOG.old.1"), testing::Key("LOG.old.2")));
  EXPECT_EQ(aux_.Find("c/LOG.old.2")->links, 2u);
  ASSERT_TRUE(aux_.Remove("c/LOG.old.1").ok());
  ASSERT_TRUE(aux_.RemoveDirectory("c").ok());
  EXPECT_TRUE(fs::exists(top_ + "/c/LOG.old.2"));
  EXPECT_EQ(aux_.Find("none/LOG")->kind, HostStat::Kind::kMissing);
  EXPECT_THAT(*aux_.List("none"), IsEmpty());
  EXPECT_EQ(aux_.OpenForRead("none/LOG").error().code(), Code::kNotFound);
}

TEST_F(AuxDirectoryTest, NobodyElseCanOpenALockAndHoldIt) {
  ASSERT_TRUE(aux_.Lock("db/LOCK").has_value());
  EXPECT_EQ(fs::status(top_ + "/db/LOCK").permissions() & fs::perms::mask, fs::perms(0600));
}

TEST_F(AuxDirectoryTest, WhatAnotherUserMadeInASharedDirectoryIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's files need root";
  ASSERT_EQ(::chmod(top_.c_str(), 01777), 0);
  fs::create_directory(top_ + "/db");
  std::ofstream(top_ + "/LOG") << "theirs";
  for (const std::string& path : {top_ + "/db", top_ + "/LOG"}) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  }
  for (const char* const name : {"db/LOG", "LOG"}) {
    const std::string path = name;
    const std::string why = path == "LOG" ? "LOG belongs to another user" : "db belongs to another user";
    EXPECT_THAT(Refusal(aux_.Create(path)), HasSubstr(why));
    EXPECT_THAT(Refusal(aux_.Lock(path)), HasSubstr(why));
    EXPECT_THAT(Refusal(aux_.OpenForAppend(path)), HasSubstr(why));
    EXPECT_THAT(Refusal(aux_.OpenForRead(path)), HasSubstr(why));
    EXPECT_THAT(Refusal(aux_.Find(path)), HasSubstr(why));
    EXPECT_THAT(Refusal(aux_.Rename(path, "LOG.old.1")), HasSubstr(why));
  }
  EXPECT_THAT(Refusal(aux_.List("db")), HasSubstr("db belongs to another user"));
  std::ifstream file(top_ + "/LOG");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "theirs");
  EXPECT_TRUE(fs::is_empty(top_ + "/db"));
}

// Another program of a trusted user, or a mistake of one, must not lead a call outside either.
TEST_F(AuxDirectoryTest, NothingOutsideIsTouchedWhileDirectoriesAreExchangedForLinks) {
  fs::create_directory(top_ + "/db");
  fs::create_symlink(outside_, top_ + "/link");
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> swaps = 0;
  Thread swapper("swapper", [&] {
    while (!stop) {
      // In one step: what a call makes at a missing name can't stop the exchange.
      if (::renameat2(AT_FDCWD, (top_ + "/db").c_str(), AT_FDCWD, (top_ + "/link").c_str(),
                      RENAME_EXCHANGE) == 0) {
        ++swaps;
      }
    }
  });
  int refused = 0;
  constexpr int kRoundsMax = 200'000;  // on a busy machine few calls meet a link
  for (int round = 0; round < kRoundsMax && (round < 2000 || swaps < 100 || refused == 0); ++round) {
    const auto count = [&](const auto& outcome) { refused += outcome.ok() ? 0 : 1; };
    auto created = aux_.Create("db/LOG");
    if (created.ok()) static_cast<void>(created->Append(AsBytes("log")).ok());
    count(created);
    count(aux_.Lock("db/LOCK"));
    count(aux_.Rename("db/LOG", "db/LOG.old.1"));
    count(aux_.Remove("db/LOG.old.1"));
    count(aux_.List("db"));
  }
  stop = true;
  swapper.Join();
  EXPECT_GT(refused, 0);
  ExpectOutsideUntouched();
}

}  // namespace
}  // namespace zenfs

namespace zenfs {
namespace {

using testing::HasSubstr;

class AuxMarkerTest : public testing::Test {
 protected:
  HostDirectory Directory() const { return *HostDirectory::OpenTrusted(directory_.path()); }
  Status Mark(const Superblock& volume) const {
    ZENFS_ASSIGN_OR_RETURN(AuxMarker marker, AuxMarker::Prepare(Directory(), volume.uuid, volume.aux_secret));
    return marker.Keep();
  }
  // Why `volume` is not permitted; empty if it is.
  std::string Refusal(const Superblock& volume) const {
    const Status status = CheckAuxMarker(Directory(), volume);
    if (status.ok()) return "";
    EXPECT_EQ(status.error().code(), Code::kPermission);
    return status.error().text();
  }
  static Superblock AVolume() { return {.uuid = Uuid::Generate(), .aux_secret = Uuid::Generate()}; }

  TempDirectory directory_;
  const std::string file_ = directory_.File(std::string(kAuxMarker));
  const Superblock volume_ = AVolume();
};

TEST_F(AuxMarkerTest, PermitsTheVolumeThatWasMadeLast) {
  EXPECT_THAT(Refusal(volume_), HasSubstr(file_ + " does not exist"));
  ASSERT_TRUE(Mark(AVolume()).ok());
  EXPECT_THAT(Refusal(volume_), HasSubstr("another file system"));
  ASSERT_TRUE(Mark(volume_).ok());
  EXPECT_EQ(Refusal(volume_), "");
}

TEST_F(AuxMarkerTest, AnImageThatHasOnlyTheUuidOfTheVolumeIsNotPermitted) {
  ASSERT_TRUE(Mark(volume_).ok());
  Superblock copied = volume_;
  copied.aux_secret = Uuid::Generate();
  EXPECT_THAT(Refusal(copied), HasSubstr("another file system"));
  copied.aux_secret = {};
  EXPECT_THAT(Refusal(copied), HasSubstr("older version"));
  std::ofstream(file_) << volume_.uuid.ToString() << '\n';  // as older versions wrote it
  EXPECT_NE(Refusal(volume_), "");
  EXPECT_NE(Refusal(copied), "");
}

TEST_F(AuxMarkerTest, OneThatIsNotKeptLeavesWhatWasThere) {
  ASSERT_TRUE(Mark(volume_).ok());
  {
    ASSERT_TRUE(AuxMarker::Prepare(Directory(), Uuid::Generate(), Uuid::Generate()).has_value());
  }
  EXPECT_EQ(Refusal(volume_), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(AuxMarkerTest, AFileOfSomebodyElseALinkAndOneThatOthersReadPermitNothing) {
  ASSERT_TRUE(Mark(volume_).ok());
  ASSERT_EQ(::chmod(file_.c_str(), 0640), 0);
  EXPECT_THAT(Refusal(volume_), HasSubstr("mode 0600"));
  ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  std::filesystem::rename(file_, directory_.File("elsewhere"));
  std::filesystem::create_symlink(directory_.File("elsewhere"), file_);
  EXPECT_THAT(Refusal(volume_), HasSubstr("can't be read"));
  std::filesystem::rename(directory_.File("elsewhere"), file_);
  EXPECT_EQ(Refusal(volume_), "");
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's file needs root";
  ASSERT_EQ(::chown(file_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(Refusal(volume_), HasSubstr("another user"));
}

}  // namespace
}  // namespace zenfs
