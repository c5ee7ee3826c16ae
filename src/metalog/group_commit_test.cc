// Group commit: the queue of commits and the lead, without a device; then commits of many threads.
#include "metalog/group_commit.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "base/sync_point.h"
#include "base/thread.h"
#include "metalog/metalog_test_util.h"
#include "testing/faulty_device.h"
#include "testing/sim_scheduler.h"

namespace zenfs::group_commit_test {
namespace {

// --- the queue and the lead ---

constexpr std::uint64_t kListBytes = 100;

struct Calls {
  explicit Calls(CommitQueue& queue) {
    for (CommitCall& call : calls) {
      call.encoded.assign(kListBytes, 'x');
      queue.Push(call);
    }
  }
  std::array<CommitCall, 4> calls;
};

TEST(CommitQueue, OnlyTheFirstCallMayLeadAndOnlyWhileNobodyLeads) {
  CommitQueue queue;
  Calls queued(queue);
  EXPECT_TRUE(queue.MayLead(queued.calls[0]));
  EXPECT_FALSE(queue.MayLead(queued.calls[1]));
  queue.Lead();
  EXPECT_FALSE(queue.MayLead(queued.calls[0]));
  queue.EndLead();
  queue.Remove(queued.calls[0]);
  EXPECT_TRUE(queue.MayLead(queued.calls[1]));
}

TEST(CommitQueue, ABatchEndsAtItsLimitAndOnlyTheFirstCallMayExceedIt) {
  CommitQueue queue;
  Calls queued(queue);
  queued.calls[1].data_since = FlushMark::AtOpen();
  queue.Lead();
  const CommitBatch two = queue.TakeBatch(7, kMaxCountBytes + 2 * kListBytes, 1000);
  ASSERT_EQ(two.calls.size(), 2u);
  EXPECT_TRUE(two.flush_data_first);
  EXPECT_EQ(two.first_sequence, 7u);
  EXPECT_EQ(two.last_sequence(), 8u);
  const CommitBatch one = queue.TakeBatch(9, 1, 1000);
  ASSERT_EQ(one.calls.size(), 1u);
  EXPECT_FALSE(one.flush_data_first);
  EXPECT_TRUE(queue.TakeBatch(10, kListBytes, kListBytes).calls.empty());  // no room in the zone
}

TEST(CommitQueue, ABatchThatIsPutBackKeepsItsOrder) {
  CommitQueue queue;
  Calls queued(queue);
  queue.Lead();
  const CommitBatch batch = queue.TakeBatch(1, kMaxCountBytes + 2 * kListBytes, 1000);
  queue.PutBack(batch);
  const auto all = queue.TakeAll();
  ASSERT_EQ(all.size(), queued.calls.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], &queued.calls[i]);
  EXPECT_TRUE(queue.TakeAll().empty());
}

TEST(CommitQueue, ALogSwitchGetsTheLeadBeforeQueuedCalls) {
  Mutex mutex{LockRank::kMetalog};
  CommitQueue queue;
  Calls queued(queue);
  queue.Lead();
  bool switch_leads = false;
  CondVar changed;
  Thread switcher("switch", [&] {
    MutexLock lock(mutex);
    queue.LeadForSwitch(mutex);
    switch_leads = true;
    changed.NotifyAll();
  });
  MutexLock lock(mutex);
  queue.EndLead();
  while (!switch_leads) changed.Wait(mutex);
  EXPECT_FALSE(queue.MayLead(queued.calls[0]));
  queue.EndLead();
  EXPECT_TRUE(queue.MayLead(queued.calls[0]));
}

TEST(CommitQueue, IsIdleOnceAllCallsReturned) {
  Mutex mutex{LockRank::kMetalog};
  CommitQueue queue;
  queue.BeginCall();
  EXPECT_FALSE(queue.idle());
  Thread caller("caller", [&] {
    MutexLock lock(mutex);
    queue.EndCall();
  });
  MutexLock lock(mutex);
  queue.AwaitIdle(mutex);
  EXPECT_TRUE(queue.idle());
}

// --- commits of many threads ---

constexpr std::uint32_t kZones = 3;
constexpr int kThreads = 16;
constexpr int kCommitsEach = 100;

// Every thread creates its own files, and deletes all but the last.
void CommitFromManyThreads(Metalog& log, int commits_each, std::atomic<int>& failures) {
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back("committer", [&log, &failures, commits_each, t] {
      for (int i = 0; i < commits_each; ++i) {
        const std::uint64_t id = kFirstTestId + static_cast<std::uint64_t>(t) * 10'000 + i;
        std::vector<Edit> edits = CreateNamed(id);
        if (i > 0) {
          const std::vector<Edit> unlink = UnlinkNamed(id - 1);
          edits.insert(edits.end(), unlink.begin(), unlink.end());
        }
        if (!log.Commit(std::move(edits)).ok()) ++failures;
      }
    });
  }
}

TEST(MetalogGroup, SixteenThreadsShareDeviceWrites) {
  EmulatorOptions options;
  options.write_us = 100;
  options.flush_us = 200;
  const auto device = CreateMemoryDevice(SmallGeometry(16 << 20), options);
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  const auto log = MustOpen(*device, kZones);
  std::atomic<int> failures = 0;
  CommitFromManyThreads(*log, kCommitsEach, failures);
  EXPECT_EQ(failures, 0);
  const MetalogStats stats = log->stats();
  EXPECT_EQ(stats.commits, static_cast<std::uint64_t>(kThreads * kCommitsEach));
  EXPECT_LE(stats.frames_written * 6, stats.commits) << stats.frames_written << " writes";
}

// While the first write is held, all other commits queue; then one write carries them. No timing is involved.
TEST(MetalogGroup, CommitsQueuedDuringAWriteShareOneFrame) {
  FaultyDevice device(CreateMemoryDevice(SmallGeometry(1 << 20)));
  ZENFS_ASSERT_OK(Formatted(device, kZones));
  const auto log = MustOpen(device, kZones);
  device.Hold(FaultyDevice::Command::kFlush);
  std::atomic<int> queued = 0;
  SyncPoint::Scope scope([&queued](std::string_view name) {
    if (name != "Metalog::Commit:queued") return;
    ++queued;
    queued.notify_all();
  });
  std::vector<Thread> threads;
  const auto start = [&](std::uint64_t id) {
    threads.emplace_back("committer", [&log, id] { EXPECT_TRUE(log->Commit(CreateNamed(id)).ok()); });
  };
  start(kFirstTestId);
  ASSERT_TRUE(device.WaitUntilHeld(1, Deadline::After(std::chrono::seconds(30))));
  for (std::uint64_t i = 1; i < kThreads; ++i) start(kFirstTestId + i);
  for (int n = queued; n < kThreads; n = queued) queued.wait(n);
  device.Release();
  threads.clear();
  EXPECT_EQ(log->stats().commits, static_cast<std::uint64_t>(kThreads));
  EXPECT_EQ(log->stats().frames_written, 2u);
}

// The zone is full at the first write, so that commit is retried after a log switch. In many thread orders, the second
// thread's write and its log switch fail before the first thread wakes up. Found by the simulator.
TEST(MetalogGroup, RetriedCommitReturnsAnErrorIfTheLogFailedMeanwhile) {
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    FaultyDevice device(CreateMemoryDevice(SmallGeometry(256 << 10)));
    ZENFS_ASSERT_OK(Formatted(device, kZones));
    SimScheduler({.seed = seed, .switch_one_in = 1000}).Run([&] {
      const auto log = MustOpen(device, kZones);
      std::atomic<int> writes = 0;
      const SyncPoint::Scope during([&](std::string_view name) {
        if (name != "Metalog::BatchLead::Write") return;
        ++writes;
        if (writes == 1) device.Inject({.code = Code::kZoneFull});
        if (writes == 2) device.Inject({.times = FaultyDevice::kForEver});
      });
      const auto commit = [&](std::uint64_t id) {
        return [&log, id] { EXPECT_FALSE(log->Commit(CreateNamed(id)).ok()); };
      };
      const Thread first("first", commit(kFirstTestId));
      const Thread second("second", commit(kFirstTestId + 1));
    });
  }
}

// D1 of docs/internals/failures.md.
TEST(MetalogGroup, NothingIsLostWhenManyThreadsCommitAndTheLogSwitches) {
  const auto device = CreateMemoryDevice(SmallGeometry(256 << 10));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  {
    const auto log = MustOpen(*device, kZones);
    std::atomic<int> failures = 0;
    CommitFromManyThreads(*log, kCommitsEach, failures);
    EXPECT_EQ(failures, 0);
    EXPECT_GT(log->stats().switches, 0u);
  }
  const auto log = MustOpen(*device, kZones);
  EXPECT_EQ(log->stats().sequence, static_cast<std::uint64_t>(kThreads * kCommitsEach));
  EXPECT_EQ(log->recovered().files().size(), static_cast<std::size_t>(kThreads));
  EXPECT_TRUE(log->recovered().Check().empty());
}

}  // namespace
}  // namespace zenfs::group_commit_test
