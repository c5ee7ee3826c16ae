// Files of other users under the name of a mount's append buffers: the next mount does not use them, and they do not prevent
// it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/file_lock.h"
#include "base/unique_fd.h"
#include "format/buffer_area_layout.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

constexpr uid_t kOther = 65534;

class VolumeFlushForeignTest : public VolumeFlushTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "this test needs root, to act as two users";
    VolumeFlushTest::SetUp();
    // Like /dev/shm: all users may make files, and remove only their own.
    ASSERT_EQ(chmod(directory_.c_str(), 01777), 0);
  }
  // Lets a mount die with flushed bytes. Returns the path of its buffers.
  std::string DieWithFlushedBytes() {
    Open("a.log");
    EXPECT_TRUE(IsOk(file_->Append(AsBytes("synced "))));
    EXPECT_TRUE(IsOk(file_->Sync()));
    EXPECT_TRUE(IsOk(AppendAndFlush("flushed")));
    Die();
    const auto paths = Buffers();
    EXPECT_EQ(paths.size(), 1u);
    return paths.empty() ? "" : paths.front();
  }
  // Makes a copy of the file in its place, as another user who could read it would.
  static void TakeOverName(const std::string& path) {
    std::filesystem::copy_file(path, path + "-copy");
    std::filesystem::rename(path + "-copy", path);
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(chown(path.c_str(), kOther, kOther), 0);
  }
  void ExpectIgnored() {
    ASSERT_TRUE(Mount());
    EXPECT_EQ(Get("a.log"), "synced ");
    std::string notices;
    for (const std::string& notice : volume_->notices()) notices += notice + "\n";
    EXPECT_NE(notices.find("belongs to user 65534"), std::string::npos) << notices;
    EXPECT_NE(notices.find("may be missing"), std::string::npos) << notices;
  }
};

TEST_F(VolumeFlushForeignTest, AFileThatAnotherUserMadeIsIgnored) {
  const std::string path = DieWithFlushedBytes();
  TakeOverName(path);
  ExpectIgnored();
  EXPECT_TRUE(std::filesystem::exists(path));  // it belongs to another user
}

TEST_F(VolumeFlushForeignTest, ALockOnAnotherUsersFileDoesNotRefuseTheMount) {
  const std::string path = DieWithFlushedBytes();
  TakeOverName(path);
  const UniqueFd held(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(LockFile(held.get()), 0);
  ExpectIgnored();
}

TEST_F(VolumeFlushForeignTest, ASymbolicLinkOfAnotherUserDoesNotRefuseTheMount) {
  const std::string path = DieWithFlushedBytes();
  std::filesystem::remove(path);
  ASSERT_EQ(symlink("/etc/passwd", path.c_str()), 0);
  ASSERT_EQ(lchown(path.c_str(), kOther, kOther), 0);
  ExpectIgnored();
}

TEST_F(VolumeFlushForeignTest, APipeOfAnotherUserDoesNotRefuseTheMount) {
  const std::string path = DieWithFlushedBytes();
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  ASSERT_EQ(lchown(path.c_str(), kOther, kOther), 0);
  ExpectIgnored();
}

TEST_F(VolumeFlushForeignTest, AKillAtAnyCommandOfAMountThatIgnoresAFileKeepsWhatWasSynced) {
  bool whole = false;
  for (std::uint64_t cut = 0; !whole; ++cut) {
    ASSERT_LT(cut, 100u);
    TakeOverName(DieWithFlushedBytes());
    device_->StopAfter(cut);
    whole = Mount() && !device_->stopped();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    ASSERT_EQ(Get("a.log"), "synced ") << "cut " << cut;
    ASSERT_TRUE(IsOk(volume_->Unlink("a.log")));
    for (const std::string& path : Buffers()) {
      if (OwnerOfName(path) == kOther) std::filesystem::remove(path);
    }
  }
}

// A database runs as its own user, in the group of the device; an administrator mounts the volume as root.
TEST_F(VolumeFlushForeignTest, BuffersOfTheUserWhoMadeThemComeBackWhenRootMounts) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  mounted_ = Fail(Code::kShutdown, "ended");
  volume_.reset();
  {
    ASSERT_EQ(seteuid(kOther), 0);
    const auto mounted = Mount();
    ASSERT_EQ(seteuid(0), 0);
    ASSERT_TRUE(mounted);
  }
  const std::string path = DieWithFlushedBytes();
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  ASSERT_EQ(status.st_uid, kOther);
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("a.log"), "synced flushed");
  EXPECT_FALSE(std::filesystem::exists(path));
}

// In the other direction the bytes can't be read, but must not be lost.
TEST_F(VolumeFlushForeignTest, BuffersOfRootRefuseTheMountOfAnotherUser) {
  DieWithFlushedBytes();
  ASSERT_EQ(seteuid(kOther), 0);
  const auto refused = Mount();
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_FALSE(refused);
  EXPECT_EQ(mounted_.error().code(), Code::kPermission);
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("a.log"), "synced flushed");
}

// Sets the key in the header to zeros, as in a file of a program without keys.
void TakeKeyOut(const std::string& path) {
  BufferAreaHeader header;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  std::memset(header.key, 0, sizeof header.key);
  std::vector<std::byte> page(kBufferAreaHeaderBytes);
  SealBufferAreaHeader(page, header);
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(page.data()), std::ssize(page));
}

class VolumeFlushKeyTest : public VolumeFlushTest {
 protected:
  // Lets the mount die like one of a program without keys.
  void DieWithoutKey() {
    Die();
    TakeKeyOut(Buffers().at(0));
    const auto superblock = ProbeSuperblock(*device_);
    ASSERT_TRUE(IsOk(superblock));
    const auto log = Metalog::Open(*device_, *superblock);
    ASSERT_TRUE(IsOk(log));
    ASSERT_TRUE(IsOk((*log)->Commit({SetBufferPlace{(*log)->recovered().buffer_place()}})));
  }
};

TEST_F(VolumeFlushKeyTest, AForgerWhoDoesNotKnowTheKeyIsRefused) {
  Open("a.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  Die();
  TakeKeyOut(Buffers().at(0));
  EXPECT_FALSE(Mount());
  EXPECT_EQ(mounted_.error().code(), Code::kCorruption);
  discard_ = true;
  EXPECT_TRUE(Mount());
}

TEST_F(VolumeFlushKeyTest, WhatAProgramWithoutKeysHadFlushedComesBack) {
  Open("a.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  DieWithoutKey();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("a.log"), "flushed");
  EXPECT_TRUE(volume_->notices().empty());
}

TEST_F(VolumeFlushKeyTest, AKillAtAnyCommandOfTheFirstMountWithKeysLosesNothing) {
  bool whole = false;
  for (std::uint64_t cut = 0; !whole; ++cut) {
    ASSERT_LT(cut, 100u);
    Open("a.log");
    ASSERT_TRUE(IsOk(file_->Truncate(0)));
    ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
    DieWithoutKey();
    device_->StopAfter(cut);
    whole = Mount() && !device_->stopped();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    ASSERT_EQ(Get("a.log"), "flushed") << "cut " << cut;
    ASSERT_TRUE(volume_->notices().empty()) << "cut " << cut << ": " << volume_->notices().front();
  }
}

}  // namespace
}  // namespace zenfs
