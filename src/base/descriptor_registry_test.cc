#include "base/descriptor_registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <vector>

#include "base/file_lock.h"
#include "base/thread.h"
#include "base/unique_fd.h"
#include "testing/forked_child.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

// Returns true if `body` returns true in a forked child.
template <typename Body>
bool HoldsInChild(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class DescriptorRegistryTest : public ::testing::Test {
 protected:
  UniqueFd Open() const {
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC;
    return UniqueFd::Opened([&] { return ::open(directory.File("file").c_str(), flags, 0600); });
  }

  TempDirectory directory;
};

TEST_F(DescriptorRegistryTest, LockEndsWithItsOwnerAlthoughAForkedChildLives) {
  auto held = std::make_unique<UniqueFd>(Open());
  ASSERT_EQ(LockFile(held->get()), 0);
  const ForkedChild child;
  held.reset();
  const UniqueFd again = Open();
  EXPECT_EQ(LockFile(again.get()), 0);
  EXPECT_TRUE(child.alive());
}

// posix_spawn runs no fork handler; exec closes the descriptors.
TEST_F(DescriptorRegistryTest, LockEndsWithItsOwnerAlthoughASpawnedProgramLives) {
  auto held = std::make_unique<UniqueFd>(Open());
  ASSERT_EQ(LockFile(held->get()), 0);
  const std::array<char*, 3> arguments{const_cast<char*>("sleep"), const_cast<char*>("60"), nullptr};
  pid_t child = -1;
  ASSERT_EQ(::posix_spawnp(&child, "sleep", nullptr, nullptr, arguments.data(), environ), 0);
  held.reset();
  const UniqueFd again = Open();
  EXPECT_EQ(LockFile(again.get()), 0);
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(DescriptorRegistryTest, LockIsKeptByItsOwnerWhenAForkedChildCloses) {
  const UniqueFd held = Open();
  ASSERT_EQ(LockFile(held.get()), 0);
  EXPECT_TRUE(HoldsInChild([&] { return ::close(held.get()) == 0; }));
  const UniqueFd other = Open();
  EXPECT_EQ(LockFile(other.get()), EWOULDBLOCK);
}

TEST_F(DescriptorRegistryTest, DescriptorInAChildRefusesEveryUseAndKeepsItsNumber) {
  const UniqueFd first = Open();
  UniqueFd second = Open();
  EXPECT_TRUE(HoldsInChild([&] {
    char byte = 'x';
    for (const int fd : {first.get(), second.get()}) {
      if (::write(fd, &byte, 1) != -1 || errno != EBADF) return false;
      if (::read(fd, &byte, 1) != -1 || errno != EBADF) return false;
      if (::fcntl(fd, F_GETFD) != FD_CLOEXEC) return false;
    }
    const int second_number = second.get();
    const int own = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    second = UniqueFd();
    return own != second_number && ::write(own, &byte, 1) == 1 && ::fcntl(second_number, F_GETFD) == -1;
  }));
  EXPECT_EQ(::write(first.get(), "x", 1), 1);
}

TEST_F(DescriptorRegistryTest, ChildGivesUpDescriptorsWhenNoNumberIsFree) {
  const UniqueFd held = Open();
  ASSERT_EQ(LockFile(held.get()), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<UniqueFd> all;
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  for (UniqueFd fd = Open(); fd.valid(); fd = Open()) all.push_back(std::move(fd));
  const bool refused = HoldsInChild([&] {
    char byte = 0;
    return ::read(held.get(), &byte, 1) == -1 && errno == EBADF && ::fcntl(held.get(), F_GETFD) == FD_CLOEXEC;
  });
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(refused);
}

TEST_F(DescriptorRegistryTest, ChildCanUseDescriptorsThatItOpens) {
  const UniqueFd held = Open();
  EXPECT_TRUE(HoldsInChild([&] {
    const UniqueFd own = Open();
    return own.valid() && ::write(own.get(), "x", 1) == 1;
  }));
}

TEST_F(DescriptorRegistryTest, SpawnAndVforkLeaveTheParentsDescriptors) {
  const UniqueFd held = Open();
  const std::array<char*, 2> arguments{const_cast<char*>("true"), nullptr};
  pid_t child = -1;
  ASSERT_EQ(::posix_spawnp(&child, "true", nullptr, nullptr, arguments.data(), environ), 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::write(held.get(), "x", 1), 1);
  child = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): RocksDB's users may call it
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(::write(held.get(), "x", 1), 1);
}

// One thread opens and closes files while another forks. Each child looks for a usable descriptor.
TEST_F(DescriptorRegistryTest, NoChildGetsADescriptorThatIsJustBeingOpenedOrClosed) {
  const std::string path = directory.File("file");
  ASSERT_TRUE(Open().valid());
  std::atomic<bool> stop{false};
  Thread opener("opener", [&] {
    while (!stop) static_cast<void>(Open());
  });
  int kept = 0;
  for (int i = 0; i < 200; ++i) {
    kept += HoldsInChild([] {
      char byte = 0;
      for (int fd = 3; fd < 64; ++fd) {
        struct stat st{};
        if (::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ::pread(fd, &byte, 1, 0) >= 0) return false;
      }
      return true;
    })
                ? 0
                : 1;
  }
  stop = true;
  opener.Join();
  EXPECT_EQ(kept, 0);
}

}  // namespace
}  // namespace zenfs
