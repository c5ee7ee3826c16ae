#include "cli/metrics_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "backends/host/lock_holder.h"
#include "base/shared_memory.h"
#include "base/unique_fd.h"

namespace zenfs {
namespace {

// Bytes that this thread has read by system calls.
std::uint64_t BytesRead() {
  std::ifstream io("/proc/thread-self/io");
  std::string word;
  std::uint64_t bytes = 0;
  io >> word >> bytes;
  return word == "rchar:" ? bytes : 0;
}

// Locks of some other user, who need not have anything to do with ZenFS.
class ManyLocks {
 public:
  explicit ManyLocks(int count) {
    for (int i = 0; i < count; ++i) {
      constexpr int kOfOneFile = 500;
      if (i % kOfOneFile == 0) {
        std::string path = testing::TempDir() + "many_locks_XXXXXX";
        files_.emplace_back(::mkstemp(path.data()));
        ::unlink(path.c_str());
      }
      struct flock range{};
      range.l_type = F_WRLCK;
      range.l_whence = SEEK_SET;
      range.l_start = 2 * (i % kOfOneFile);
      range.l_len = 1;
      if (::fcntl(files_.back().get(), F_OFD_SETLK, &range) != 0) ADD_FAILURE() << errno;
    }
  }

 private:
  std::vector<UniqueFd> files_;
};

TEST(MetricsSourceTest, LocksOfOthersCostAReaderNothing) {
  const std::string name = fmt::format("zenfs-metrics-source-test-{}", ::getpid());
  auto maker = SharedMemory::Create("/dev/shm", name, 64 << 10, 64 << 10);
  ASSERT_TRUE(maker) << maker.error().text();
  const auto cost = [&maker] {
    const std::uint64_t before = BytesRead();
    // It holds no counters, but is not taken for that of a dead program.
    EXPECT_EQ(ReadSharedMetrics(maker->path(), true).error().code(), Code::kCorruption);
    return BytesRead() - before;
  };
  const std::uint64_t alone = cost();
  if (alone == 0) GTEST_SKIP() << "the kernel does not count what a thread reads";
  const ManyLocks others(10'000);
  EXPECT_LT(cost(), alone + 4096);
  maker->HandOver({});
  EXPECT_EQ(ReadSharedMetrics(maker->path(), true).error().code(), Code::kNotFound);
  EXPECT_TRUE(maker->Unlink().ok());
}

TEST(MetricsSourceTest, TheListOfLocksIsReadInPart) {
  const ManyLocks others(10'000);
  const std::string locks = ReadProcLocks();
  EXPECT_GT(locks.size(), 200U << 10);
  EXPECT_LE(locks.size(), 260U << 10);
}

MetricsSnapshot After(std::uint64_t epoch, std::uint64_t creates) {
  MetricsSnapshot metrics;
  metrics.values[static_cast<std::size_t>(Value::kEpoch)] = epoch;
  metrics.operations[static_cast<std::size_t>(Operation::kCreate)].count = creates;
  return metrics;
}

TEST(MetricsIntervalsTest, AnotherMountBeginsAtItsTotals) {
  MetricsIntervals intervals;
  const SteadyTime begin = SteadyNow();
  EXPECT_FALSE(intervals.Next(After(1, 5), begin).interval_seconds.has_value());
  const StatsView later = intervals.Next(After(1, 7), begin + std::chrono::seconds(2));
  EXPECT_EQ(later.metrics[Operation::kCreate].count, 2U);
  EXPECT_EQ(later.interval_seconds, 2.0);
  const StatsView other = intervals.Next(After(2, 9), begin + std::chrono::seconds(4));
  EXPECT_EQ(other.metrics[Operation::kCreate].count, 9U) << "no difference between two mounts";
  EXPECT_FALSE(other.interval_seconds.has_value());
}

}  // namespace
}  // namespace zenfs
