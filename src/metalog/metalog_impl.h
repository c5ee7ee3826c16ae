// Implementation of the metadata log. Internal to metalog/. metalog.cc opens and stops it, commit.cc groups and writes
// commits, log_switch.cc moves the log to a new generation.
//
// Roles
//   leader   the thread that set leading_; only it writes to the current generation. A committing thread leads for one
//            batch, a log switch for its SwitchBegin and its last round.
//   switch   the thread that runs a log switch, while switch_running_ is set; only it takes and resets metadata zones.
//            Its own thread, or a waiting thread if the host cannot start one.
//
// Invariants
//   queue_    its members are not written yet. A member whose Commit returned OK is durable and in state_ or pending_
//   frozen_   a log switch reads state_ without the lock, so state_ does not change; commits collect in pending_
//   fenced_   a write to the current generation has an unknown outcome, so nothing more is written to it. A complete
//             log switch ends this; a failed one makes the log read-only
//
// Commit and Switch are noexcept: if memory runs out (std::bad_alloc) while a thread has a role, the process ends.
// Otherwise other threads would wait for that role forever.
//
// Before each batch, all builds check that its sequences follow the last commit and that it stays within its zone. If
// not, nothing is written and the log becomes read-only (kCorruption).
//
// Edits are not validated before they are written: the catalog has applied them to its own State with the same code. An
// edit that contradicts the log's replica is a bug. The log then becomes read-only (kCorruption), because replay would
// fail at that edit too.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "metalog/footprint.h"
#include "metalog/generation_writer.h"
#include "metalog/metalog.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"

namespace zenfs {

class MetalogImpl final : public Metalog {
 public:
  MetalogImpl(ZonedDevice& device, const Superblock& superblock, Replayed replayed);
  ~MetalogImpl() override { Stop(); }

  // For an exclusive device: makes the replayed log durable. Runs a log switch if the log cannot continue at its tail, or
  // if no zone of the current generation has a valid superblock.
  Status BeginWriting() EXCLUDES(mutex_);

  const State& recovered() const override { return recovered_; }
  void SetSink(CommitSink* sink) override EXCLUDES(mutex_);
  void SetMetrics(Metrics* metrics) override EXCLUDES(mutex_);
  Status Commit(std::vector<Edit> edits, CommitOptions options) noexcept override EXCLUDES(mutex_);
  Status CheckRoom(std::uint64_t bytes) const override EXCLUDES(mutex_);
  Status Switch() noexcept override EXCLUDES(mutex_);
  void Stop() override EXCLUDES(mutex_);
  Status health() const override EXCLUDES(mutex_);
  MetalogStats stats() const override EXCLUDES(mutex_);

 private:
  using Edits = std::shared_ptr<const std::vector<Edit>>;

  // One Commit call, on its caller's stack.
  struct Member {
    Edits edits;
    std::string encoded;
    std::optional<FlushMark> data_since;
    std::uint64_t growth = 0;  // counted in unapplied_growth_
    int tries = 0;             // retries in another zone
    bool done = false;
    Status result;
    CondVar wake;
  };
  // A committed member that state_ does not have yet.
  struct Pending {
    Edits edits;
    std::string encoded;
    std::uint64_t growth = 0;
  };
  struct Batch {
    std::vector<Member*> members;
    std::uint64_t first_sequence = 0;
    bool flush_data_first = false;

    std::uint64_t last_sequence() const { return first_sequence + members.size() - 1; }
  };
  struct SwitchRun;

  // commit.cc
  Status Admit(Member& member) REQUIRES(mutex_);
  Status CheckSpace(Growth growth, std::uint64_t bytes) const REQUIRES(mutex_);
  bool MayLead(const Member& member) const REQUIRES(mutex_);
  void Lead(Member& self) REQUIRES(mutex_);
  void Gather() REQUIRES(mutex_);
  Batch TakeBatch() REQUIRES(mutex_);
  Status WriteBatch(const Batch& batch) EXCLUDES(mutex_);
  void Publish(Batch& batch) REQUIRES(mutex_);
  void Fence(Batch& batch, const Error& error) REQUIRES(mutex_);
  void Refuse(Batch& batch, const Error& error) REQUIRES(mutex_);
  void EndForGood(Batch& batch, const Error& error) REQUIRES(mutex_);
  void RefuseLost(Batch& batch) REQUIRES(mutex_);
  void WaitForRoom(Member& self) REQUIRES(mutex_);
  void Complete(Member& member, Status result) REQUIRES(mutex_);
  void ReleaseLead() REQUIRES(mutex_);
  void WakeNext() REQUIRES(mutex_);
  void CountWritten() REQUIRES(mutex_);
  void ApplyToReplica(const std::vector<Edit>& edits, std::uint64_t growth) REQUIRES(mutex_);
  void GoReadOnly(const Error& why) REQUIRES(mutex_);

  // log_switch.cc
  Status StartSwitch(std::uint64_t need) REQUIRES(mutex_);
  void NoteSwitchRunning(std::uint64_t need) REQUIRES(mutex_);
  Status SwitchAndWait(std::uint64_t need) REQUIRES(mutex_);
  void RunSwitch() EXCLUDES(mutex_);
  Status TrySwitch(SwitchRun& run) EXCLUDES(mutex_);
  Status BeginSwitchInOldZone(SwitchRun& run) EXCLUDES(mutex_);
  void FreeSlot(SwitchRun& run) EXCLUDES(mutex_);
  Status CatchUp(SwitchRun& run) EXCLUDES(mutex_);
  Status WritePending(SwitchRun& run) EXCLUDES(mutex_);
  Status CompleteGeneration(SwitchRun& run) EXCLUDES(mutex_);
  void TakeLead(SwitchRun& run) EXCLUDES(mutex_);
  void FinishSwitch(SwitchRun& run, const Status& result) EXCLUDES(mutex_);
  void Thaw() REQUIRES(mutex_);
  MetalogSpace space() const REQUIRES(mutex_);

  ZonedDevice& device_;
  const Superblock superblock_;
  const MetazoneLayout layout_;
  const std::size_t spare_slots_;  // for zones of superseded generations
  const bool read_only_device_;
  Metazones zones_;
  const State recovered_;

  mutable Mutex mutex_{LockRank::kMetalog};
  Metrics* metrics_ GUARDED_BY(mutex_) = nullptr;
  std::deque<Member*> queue_ GUARDED_BY(mutex_);
  bool leading_ GUARDED_BY(mutex_) = false;
  bool switch_wants_lead_ GUARDED_BY(mutex_) = false;
  CondVar lead_released_;
  CondVar gathered_;
  std::size_t last_batch_members_ GUARDED_BY(mutex_) = 1;
  std::chrono::nanoseconds last_write_time_ GUARDED_BY(mutex_){0};

  // Null if the log is read-only. Only the leader uses the writer.
  std::unique_ptr<GenerationWriter> current_ GUARDED_BY(mutex_);
  bool tail_is_clean_ GUARDED_BY(mutex_) = true;
  const bool newer_traces_;  // zones hold frames of a log switch that never completed
  std::uint64_t switch_at_room_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_generation_ GUARDED_BY(mutex_) = 0;  // highest number used, complete or not

  State state_ GUARDED_BY(mutex_);
  Footprint footprint_ GUARDED_BY(mutex_);
  std::uint64_t unapplied_growth_ GUARDED_BY(mutex_) = 0;
  std::uint64_t smallest_zone_ GUARDED_BY(mutex_) = 0;
  bool frozen_ GUARDED_BY(mutex_) = false;
  std::deque<Pending> pending_ GUARDED_BY(mutex_);
  bool fenced_ GUARDED_BY(mutex_) = false;

  bool switch_running_ GUARDED_BY(mutex_) = false;
  std::uint64_t switch_need_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<std::optional<Status>> switch_result_
      GUARDED_BY(mutex_);  // of the current or last log switch
  CondVar switch_ended_;
  Thread switch_thread_ GUARDED_BY(mutex_);

  CommitSink* sink_ GUARDED_BY(mutex_) = nullptr;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::size_t commits_active_ GUARDED_BY(mutex_) = 0;
  CondVar idle_;  // commits_active_ became 0
  Status health_ GUARDED_BY(mutex_);
  MetalogStats stats_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
