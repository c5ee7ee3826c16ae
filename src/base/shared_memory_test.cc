#include "base/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "base/sync_point.h"
#include "testing/forked_child.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kBytes = 8192;

class SharedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(directory_.empty()) << "this test needs a writable tmpfs";
    ASSERT_EQ(mkdir(own_.c_str(), 0700), 0);
  }
  void TearDown() override {
    for (const std::string& path : ListSharedMemory(own_, "")) unlink(path.c_str());
    rmdir(own_.c_str());
  }
  std::string Path(const std::string& name) const { return own_ + "/" + name; }

  const std::string directory_ = DefaultSharedMemoryDirectory();
  const std::string own_ = directory_ + "/zenfs-test-" + std::to_string(RandomSeed());
};

Code CodeOf(const Result<SharedMemory>& result) { return result ? Code::kShutdown : result.error().code(); }

TEST_F(SharedMemoryTest, BytesOfADeadProcessAreFound) {
  const pid_t child = fork();
  if (child == 0) {
    auto made = SharedMemory::Create(own_, "a", kBytes, kBytes);
    if (!made) _exit(1);
    std::memcpy(made->memory().data() + 5000, "flushed", 7);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto found = SharedMemory::Open(Path("a"), SharedMemory::Access::kTakeOver);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ(AsText(found->view().subspan(5000, 7)), "flushed");
  ASSERT_TRUE(found->Unlink().ok());
  EXPECT_EQ(CodeOf(SharedMemory::Open(Path("a"), SharedMemory::Access::kRead)), Code::kNotFound);
}

// A cleanup by another process may see the file before its maker has locked it.
TEST_F(SharedMemoryTest, AFileThatIsRemovedWhileItIsMadeIsNotUsed) {
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name == "SharedMemory::Create:named") unlink(Path("a").c_str());
  });
  EXPECT_EQ(CodeOf(SharedMemory::Create(own_, "a", kBytes, kBytes)), Code::kBusy);
}

TEST_F(SharedMemoryTest, FilesOfOtherUsersAreOpenedOnlyIfTheyAreTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "this test needs root, to give a file to another user";
  constexpr uid_t kOther = 65534;
  ASSERT_TRUE(SharedMemory::Create(own_, "a", kBytes, kBytes));
  EXPECT_EQ(OwnerOfName(Path("a")), 0u);
  ASSERT_EQ(chown(Path("a").c_str(), kOther, kOther), 0);
  EXPECT_EQ(OwnerOfName(Path("a")), kOther);
  for (const auto access : {SharedMemory::Access::kRead, SharedMemory::Access::kTakeOver}) {
    EXPECT_EQ(CodeOf(SharedMemory::Open(Path("a"), access)), Code::kPermission);
    EXPECT_EQ(CodeOf(SharedMemory::Open(Path("a"), access, {kOther + 1})), Code::kPermission);
    EXPECT_TRUE(SharedMemory::Open(Path("a"), access, {kOther}));
  }
}

TEST_F(SharedMemoryTest, MemoryInUseIsNotTakenOver) {
  auto made = SharedMemory::Create(own_, "a", kBytes, kBytes);
  ASSERT_TRUE(made);
  EXPECT_EQ(CodeOf(SharedMemory::Open(Path("a"), SharedMemory::Access::kTakeOver)), Code::kBusy);
  made->memory()[17] = std::byte{42};
  auto reader = SharedMemory::Open(Path("a"), SharedMemory::Access::kRead);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->view()[17], std::byte{42});
}

TEST_F(SharedMemoryTest, AnExistingNameIsNeverReused) {
  ASSERT_EQ(symlink("/etc/passwd", Path("a").c_str()), 0);
  EXPECT_EQ(CodeOf(SharedMemory::Create(own_, "a", kBytes, kBytes)), Code::kExists);
  EXPECT_FALSE(SharedMemory::Open(Path("a"), SharedMemory::Access::kRead));
}

TEST_F(SharedMemoryTest, AFileThatOthersMayWriteToIsRefused) {
  ASSERT_TRUE(SharedMemory::Create(own_, "a", kBytes, kBytes));
  ASSERT_EQ(chmod(Path("a").c_str(), 0620), 0);
  const auto opened = SharedMemory::Open(Path("a"), SharedMemory::Access::kTakeOver);
  EXPECT_EQ(CodeOf(opened), Code::kPermission);
  EXPECT_NE(opened.error().text().find(Path("a")), std::string::npos);
}

TEST_F(SharedMemoryTest, AFileWithASecondNameIsRefused) {
  ASSERT_TRUE(SharedMemory::Create(own_, "a", kBytes, kBytes));
  ASSERT_EQ(link(Path("a").c_str(), Path("b").c_str()), 0);
  EXPECT_EQ(CodeOf(SharedMemory::Open(Path("a"), SharedMemory::Access::kTakeOver)), Code::kCorruption);
}

TEST_F(SharedMemoryTest, ADirectoryOnAnotherFileSystemIsRefused) {
  const auto made = SharedMemory::Create("/proc", "a", kBytes, kBytes);
  EXPECT_EQ(CodeOf(made), Code::kInvalidArgument);
}

TEST_F(SharedMemoryTest, AFileOnAnotherFileSystemIsNotOpenedUnlessThatIsAskedFor) {
  char name[] = "/var/tmp/zenfs-shared-memory-XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(kBytes)), 0);
  close(fd);
  for (const auto access : {SharedMemory::Access::kRead, SharedMemory::Access::kTakeOver}) {
    EXPECT_EQ(CodeOf(SharedMemory::Open(name, access)), Code::kInvalidArgument) << "is /var/tmp on a tmpfs?";
  }
  EXPECT_TRUE(SharedMemory::Open(name, SharedMemory::Access::kReadAnywhere).ok());
  unlink(name);
}

TEST_F(SharedMemoryTest, AFullTmpfsIsAnErrorAndLeavesNothing) {
  const auto made = SharedMemory::Create(own_, "a", std::uint64_t{1} << 50, std::uint64_t{1} << 50);
  EXPECT_EQ(CodeOf(made), Code::kNoSpace) << made.error().ToString();
  EXPECT_TRUE(ListSharedMemory(own_, "a").empty());
}

TEST_F(SharedMemoryTest, WhatWasNotAllocatedTakesNoMemoryAndReadsAsZeros) {
  {
    auto made = SharedMemory::Create(own_, "a", 4 * kBytes, kBytes);
    ASSERT_TRUE(made);
    struct stat status{};
    ASSERT_EQ(stat(Path("a").c_str(), &status), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(status.st_blocks) * 512, kBytes);
    ASSERT_TRUE(made->Allocate(2 * kBytes, kBytes).ok());
    made->memory()[3 * kBytes - 1] = std::byte{42};
  }
  auto opened = SharedMemory::Open(Path("a"), SharedMemory::Access::kTakeOver);
  ASSERT_TRUE(opened) << opened.error().ToString();
  ASSERT_EQ(opened->view().size(), 4 * kBytes);
  EXPECT_EQ(opened->view()[3 * kBytes - 1], std::byte{42});
  EXPECT_EQ(opened->view()[4 * kBytes - 1], std::byte{0});
}

std::size_t ResidentPages(ByteView memory) {
  std::vector<unsigned char> pages(memory.size() / 4096);
  EXPECT_EQ(mincore(const_cast<std::byte*>(memory.data()), memory.size(), pages.data()), 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
}

TEST_F(SharedMemoryTest, HolesOfAFileTakeNoMemory) {
  constexpr std::uint64_t kLarge = 256u << 20;
  {
    auto made = SharedMemory::Create(own_, "a", kLarge, kBytes);
    ASSERT_TRUE(made);
    std::memcpy(made->memory().data(), "head", 4);
    ASSERT_TRUE(made->Allocate(kLarge / 2, kBytes).ok());
    std::memcpy(made->memory().data() + kLarge / 2, "tail", 4);
  }
  const auto opened = SharedMemory::Open(Path("a"), SharedMemory::Access::kRead);
  ASSERT_TRUE(opened) << opened.error().ToString();
  EXPECT_LE(ResidentPages(opened->view()), 4 * kBytes / 4096);
  EXPECT_EQ(AsText(opened->view().subspan(kLarge / 2, 4)), "tail");
}

// A device may name any file of the host. The open of a pipe would let its writer go on, and lose what it writes.
TEST_F(SharedMemoryTest, APipeIsNotOpened) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(events, Path("pipe").c_str(), IN_OPEN), 0);
  for (const auto access : {SharedMemory::Access::kRead, SharedMemory::Access::kTakeOver}) {
    EXPECT_EQ(CodeOf(SharedMemory::Open(Path("pipe"), access)), Code::kCorruption);
    char event[sizeof(inotify_event) + NAME_MAX + 1];
    EXPECT_EQ(read(events, event, sizeof event), -1) << "it was opened";
  }
  close(events);
}

TEST_F(SharedMemoryTest, AFileShortenedDuringTheReadDoesNotKillTheReader) {
  for (const auto access : {SharedMemory::Access::kRead, SharedMemory::Access::kTakeOver}) {
    {
      auto made = SharedMemory::Create(own_, "a", kBytes, kBytes);
      ASSERT_TRUE(made);
      made->memory()[kBytes - 1] = std::byte{42};
    }
    auto opened = SharedMemory::Open(Path("a"), access);
    ASSERT_TRUE(opened) << opened.error().ToString();
    ASSERT_EQ(truncate(Path("a").c_str(), 0), 0);
    ASSERT_EQ(opened->view().size(), kBytes);
    EXPECT_EQ(opened->view()[kBytes - 1], std::byte{42});
    ASSERT_TRUE(opened->Unlink().ok());
  }
}

TEST_F(SharedMemoryTest, AFileThatClaimsMoreThanAnyMountMakesIsRefused) {
  ASSERT_TRUE(SharedMemory::Create(own_, "a", kBytes, kBytes));
  for (const std::uint64_t bytes : {SharedMemory::kWholeBytesMax + 4096, std::uint64_t{1} << 40}) {
    ASSERT_EQ(truncate(Path("a").c_str(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(CodeOf(SharedMemory::Open(Path("a"), SharedMemory::Access::kRead)), Code::kCorruption);
  }
  const auto start = SharedMemory::Open(Path("a"), SharedMemory::Access::kRead, {}, kBytes);
  ASSERT_TRUE(start) << start.error().ToString();
  EXPECT_EQ(start->view().size(), kBytes);
}

TEST_F(SharedMemoryTest, UnlinkLeavesAnotherFileOfThatNameAlone) {
  auto made = SharedMemory::Create(own_, "a", kBytes, kBytes);
  ASSERT_TRUE(made);
  ASSERT_EQ(rename(Path("a").c_str(), Path("b").c_str()), 0);
  auto other = SharedMemory::Create(own_, "a", kBytes, kBytes);
  ASSERT_TRUE(other);
  ASSERT_TRUE(made->Unlink().ok());
  EXPECT_EQ(access(Path("a").c_str(), F_OK), 0);
}

TEST_F(SharedMemoryTest, MakerIsGoneAlthoughAForkedChildOfItLives) {
  auto made = SharedMemory::Create(own_, "a", kBytes, kBytes);
  ASSERT_TRUE(made);
  const ForkedChild child;
  *made = SharedMemory();
  EXPECT_TRUE(SharedMemory::Open(Path("a"), SharedMemory::Access::kTakeOver));
  EXPECT_TRUE(child.alive());
}

TEST_F(SharedMemoryTest, AChildCanDestroyItsCopyWithoutHarm) {
  auto made = SharedMemory::Create(own_, "a", kBytes, kBytes);
  ASSERT_TRUE(made);
  const pid_t child = fork();
  if (child == 0) {
    {
      const SharedMemory copy = std::move(*made);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  made->memory()[0] = std::byte{1};
}

}  // namespace
}  // namespace zenfs
