// Kills a process with kill -9, thousands of times, while it appends to files and flushes them. The
// next mount must have every flushed byte, and any bytes beyond must be a prefix of the appended
// ones.
//
// The process dies at a random moment, or at a named point between append and device. It reports
// its progress through memory shared with the test.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "backends/emulator/emulator.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/shared_memory.h"
#include "base/sync_point.h"
#include "testing/refused_threads.h"
#include "verify.h"
#include "volume/fsck/check_volume.h"
#include "volume/mkfs.h"
#include "volume/mount/mount_table.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

constexpr int kLogs = 4;
constexpr std::uint64_t kLogBytesMax = 6 << 20;  // all logs together fit the device
constexpr std::uint64_t kAppendBytesMax = 400'000;

#if defined(ZENFS_SANITIZED)  // mounts are slow, and each run executes the same code
constexpr int kKills = 100;
#else
constexpr int kKills = 500;
#endif

// The progress of the child. Written before and after each step, so that a kill in between leaves
// both values.
struct Told {
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> flushed[kLogs] = {};   // bytes for which Flush has returned
  std::atomic<std::uint64_t> appended[kLogs] = {};  // bytes passed to Append, whether it returned or not
  std::atomic<bool> failed{false};
};

char ByteAt(int log, std::uint64_t offset) {
  return static_cast<char>((offset * 31 + offset / 257 + static_cast<std::uint64_t>(log) * 101) % 251);
}

// All possible content of a log. Made once, because thousands of mounts compare with it.
const std::string& ContentOf(int log) {
  static const std::vector<std::string> contents = [] {
    std::vector<std::string> made(kLogs, std::string(kLogBytesMax + kAppendBytesMax, '\0'));
    for (int each = 0; each < kLogs; ++each) {
      for (std::uint64_t i = 0; i < made[each].size(); ++i) made[each][i] = ByteAt(each, i);
    }
    return made;
  }();
  return contents[log];
}

std::string_view Bytes(int log, std::uint64_t from, std::uint64_t length) {
  return std::string_view(ContentOf(log)).substr(from, length);
}

// Two logs are framed; two are plain until the first kill.
bool IsPlain(int log) { return log >= 2; }
std::string LogName(int log) { return std::to_string(log) + (IsPlain(log) ? ".blob" : ".log"); }

class FlushKill : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(DefaultSharedMemoryDirectory().empty()) << "this test needs a tmpfs that can be written to";
    ASSERT_TRUE(std::filesystem::create_directory(directory_));
    const EmulatorGeometry geometry{
        .zones = 64, .zone_size = 1 << 20, .zone_capacity = 768 << 10, .max_open = 14, .max_active = 14};
    ASSERT_TRUE(CreateEmulatedFile(image_, geometry, false).ok());
    auto device = OpenEmulatedFile(image_, OpenMode::kExclusive);
    ASSERT_TRUE(device);
    ASSERT_TRUE(FormatVolume(**device, {}));
    void* const memory =
        mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    told_ = new (memory) Told;
    ContentOf(0);  // before the first fork
  }
  void TearDown() override {
    munmap(told_, sizeof(Told));
    std::filesystem::remove_all(directory_);
  }

  Result<std::shared_ptr<Volume>> Mount() const {
    ZENFS_ASSIGN_OR_RETURN(auto device, OpenEmulatedFile(image_, OpenMode::kExclusive));
    MountOptions options;
    options.flush_directory = directory_;
    return Volume::Mount(std::move(device), options);
  }

  // The child: appends, flushes, sometimes syncs or replaces a log, until it dies.
  Status Work(std::uint64_t seed) {
    Random random(seed);
    ZENFS_ASSIGN_OR_RETURN(const auto volume, Mount());
    std::unique_ptr<FileHandle> files[kLogs];
    for (int log = 0; log < kLogs; ++log) {
      ZENFS_ASSIGN_OR_RETURN(files[log], volume->OpenForAppend(LogName(log), true));
    }
    for (;;) {
      const int log = static_cast<int>(random.Below(kLogs));
      const std::uint64_t length =
          random.OneIn(20) ? 1 + random.Below(kAppendBytesMax) : 1 + random.Below(300);
      const std::uint64_t from = told_->appended[log].load();
      if (from > kLogBytesMax) kill(getpid(), SIGKILL);  // the parent's kill may be late on a busy host
      const std::string_view bytes = Bytes(log, from, length);
      told_->appended[log].store(from + length);
      ZENFS_RETURN_IF_ERROR(files[log]->Append(AsBytes(bytes)));
      if (!random.OneIn(5)) {
        ZENFS_RETURN_IF_ERROR(random.OneIn(10) ? files[log]->Sync() : files[log]->Flush());
        told_->flushed[log].store(from + length);
      }
      told_->steps.fetch_add(1);
    }
  }

  // Forks a child and waits for its death.
  void WorkAndDie(Random& random) {
    told_->steps.store(0);
    const std::uint64_t seed = random.Next();
    const bool at_a_point = random.OneIn(2);
    const std::uint64_t passes = random.Below(60);
    const std::uint64_t steps = random.Below(40);
    const std::uint64_t microseconds = random.Below(300);
    const pid_t child = fork();
    if (child == 0) {
      std::atomic<std::uint64_t> passed{0};
      const SyncPoint::Scope scope([&](std::string_view) {
        if (at_a_point && told_->steps.load() >= steps && passed.fetch_add(1) >= passes) {
          kill(getpid(), SIGKILL);
        }
      });
      const Status status = Work(seed);
      std::fprintf(stderr, "child: %s\n", status.error().ToString().c_str());
      told_->failed.store(true);
      _exit(1);
    }
    ASSERT_GT(child, 0);
    if (!at_a_point) {
      while (told_->steps.load() < steps && waitpid(child, nullptr, WNOHANG) == 0) sched_yield();
      const SteadyTime until = SteadyNow() + std::chrono::microseconds(microseconds);
      while (SteadyNow() < until) {
      }
      kill(child, SIGKILL);
    }
    while (waitpid(child, nullptr, 0) > 0) {
    }
    ASSERT_FALSE(told_->failed.load());
  }

  void VerifyLog(Volume& volume, int log) {
    const std::uint64_t flushed = told_->flushed[log].load();
    const std::uint64_t appended = told_->appended[log].load();
    const auto file = volume.OpenForRead(LogName(log));
    if (!file) {
      ASSERT_EQ(file.error().code(), Code::kNotFound);
      ASSERT_EQ(flushed, 0u) << LogName(log) << " was flushed and is gone";
      told_->appended[log].store(0);
      return;
    }
    const std::uint64_t size = (*file)->size();
    ASSERT_GE(size, flushed) << "flushed bytes of " << LogName(log) << " are lost";
    ASSERT_LE(size, appended);
    std::string found(size, '\0');
    const auto read = (*file)->Read(0, std::as_writable_bytes(std::span(found)));
    ASSERT_TRUE(read) << read.error().ToString();
    ASSERT_EQ(*read, size);
    ASSERT_TRUE(found == Bytes(log, 0, size)) << LogName(log) << " has wrong bytes";
    told_->appended[log].store(size);
    told_->flushed[log].store(size);
  }

  // Mounts, compares, and sometimes replaces a log, so that the device never fills.
  void Verify(Random& random) {
    auto volume = Mount();
    ASSERT_TRUE(volume) << volume.error().ToString();
    ASSERT_TRUE((*volume)->notices().empty()) << (*volume)->notices().front();
    for (int log = 0; log < kLogs; ++log) {
      VerifyLog(**volume, log);
      if (HasFatalFailure()) return;
      if (told_->appended[log].load() < (4 << 20) && !random.OneIn(IsPlain(log) ? 3 : 30)) continue;
      const Status removed = (*volume)->Unlink(LogName(log));
      ASSERT_TRUE(removed.ok() || removed.error().code() == Code::kNotFound) << removed.error().ToString();
      told_->appended[log].store(0);
      told_->flushed[log].store(0);
    }
    ASSERT_TRUE((*volume)->Unmount().ok());
  }

  const std::string directory_ =
      DefaultSharedMemoryDirectory() + "/zenfs-test-" + std::to_string(RandomSeed());
  const std::string image_ = directory_ + "/device.img";
  Told* told_ = nullptr;
};

// D7 in docs/internals/failures.md.
TEST_F(FlushKill, EveryFlushedByteSurvivesHundredsOfKills) {
  const char* const seed_text = std::getenv("ZENFS_TEST_SEED");
  const std::uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : RandomSeed();
  Random random(seed);
  const int kills = FullRun() ? kKills * 10 : kKills;
  for (int number = 0; number < kills; ++number) {
    SCOPED_TRACE("kill " + std::to_string(number) + ", ZENFS_TEST_SEED=" + std::to_string(seed));
    WorkAndDie(random);
    if (HasFatalFailure()) return;
    Verify(random);
    if (HasFatalFailure()) return;
    // A mount leaves nothing but the emulated device.
    ASSERT_TRUE(ListSharedMemory(directory_, "zenfs-").empty());
    if (number % 200 == 0) {
      auto device = OpenEmulatedFile(image_, OpenMode::kReadOnly);
      ASSERT_TRUE(device);
      ASSERT_EQ(FirstCheckError(**device), "");
    }
  }
}

// A program that ends with exit() without unmounting. At its end the host refuses `threads_refused`
// threads.
class FlushExit : public FlushKill {
 protected:
  void AppendAndExit(int threads_refused) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) RunChild(threads_refused);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  // The size of the child's file that the next mount finds. The mount must have no notices.
  std::uint64_t SizeAfterMount() {
    auto volume = Mount();
    EXPECT_TRUE(volume) << volume.error().ToString();
    if (!volume) return 0;
    EXPECT_TRUE((*volume)->notices().empty());
    const auto stat = (*volume)->Stat("0.log");
    EXPECT_TRUE(stat);
    return stat ? stat->size : 0;
  }

 private:
  [[noreturn]] void RunChild(int threads_refused) {
    MountOptions options;
    options.flush_directory = directory_;
    auto mounted =
        MountShared(image_, options, [this] { return OpenEmulatedFile(image_, OpenMode::kExclusive); });
    if (!mounted) _exit(2);
    // exit() destroys none of these objects, as in a program that ends in the middle of its work.
    const std::shared_ptr<Volume> volume = *mounted;
    const auto file = volume->OpenForAppend("0.log", true);
    if (!file) _exit(2);
    if (!(*file)->Append(AsBytes("flushed ")).ok() || !(*file)->Flush().ok()) _exit(3);
    if (!(*file)->Append(AsBytes("and not")).ok()) _exit(4);
    const RefusedThreads refused(1, threads_refused);
    std::exit(0);
  }
};

// Its appends, flushed or not, are on the device, and the mount leaves nothing on the host.
TEST_F(FlushExit, AProcessThatExitsWithoutUnmountingLeavesNothingBehind) {
  AppendAndExit(0);
  EXPECT_TRUE(ListSharedMemory(directory_, "zenfs-").empty());
  EXPECT_EQ(SizeAfterMount(), 15u);
}

TEST_F(FlushExit, AppendsOfAProcessThatExitsWithoutAThreadForItComeBackWithTheNextMount) {
  AppendAndExit(1);
  EXPECT_EQ(SizeAfterMount(), 15u);
  EXPECT_TRUE(ListSharedMemory(directory_, "zenfs-").empty());
}

}  // namespace
}  // namespace zenfs
