// The queue of commits and the lead, without a device.
#include "metalog/commit_queue.h"

#include <gtest/gtest.h>

#include <array>

#include "base/thread.h"

namespace zenfs::commit_queue_test {
namespace {

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

}  // namespace
}  // namespace zenfs::commit_queue_test
