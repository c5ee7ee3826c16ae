// The metadata log: Commit(edits) is all or nothing, durable when it returns, and grouped across threads.
//
// The superblock lists the zones of the log. This class keeps rules 1 to 4 of docs/internals/architecture.md.
// docs/formats/metadata-log.md describes the bytes.
//
// Sources: metalog.cc makes, opens and stops a log, after replay.h has read the newest generation. group_commit.cc admits and
// writes commits. checkpoint.cc runs a log switch, the checkpoint of the metadata (metalog/checkpoint.h).
//
// Threads: Commit from any thread. The log calls the sink in log order, one call at a time, after the commit is
// durable and before its Commit returns. The sink must not call the log.
//
// Roles
//   leader   the thread that leads (group_commit.h); only it writes to the current generation. A committing thread leads
//            for one batch, a log switch for its SwitchBegin and its last round.
//   switch   the thread that runs a log switch (checkpoint.h); only it takes and resets metadata zones.
//
// Invariants, while mutex_ is free
//   a call whose result is OK is durable and in the replica; stats().sequence is the last commit in the replica
//   once health() is an error, it does not change and the queue stays empty
//
// Locks: no I/O happens while mutex_ is held, and the sink is not called. zones_ has its own lock, which comes after it.
// Commit and Switch are noexcept: if memory runs out (std::bad_alloc) while a thread has a role, the process ends, because
// other threads would wait for that role forever. noexcept is at the functions with the MutexLock: its destructor must not
// run, since the lock may be released for I/O at that moment.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "device/flush_mark.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/checkpoint.h"
#include "metalog/generation_writer.h"
#include "metalog/group_commit.h"
#include "metalog/metazones.h"
#include "metalog/replica.h"
#include "metrics/metrics.h"
#include "model/state.h"

namespace zenfs {

struct Replayed;

class CommitSink {
 public:
  virtual ~CommitSink() = default;
  // `edits`: the edits of one Commit call.
  virtual void OnCommitted(std::span<const Edit> edits) = 0;
};

struct CommitOptions {
  // Set this if the edits point to unflushed data: a mark taken before the first write of that data. The log then
  // flushes the device before it writes the edits; grouped commits share that flush. If a flush failed since the mark,
  // the data may be lost and the commit fails with kIo.
  std::optional<FlushMark> data_since;
};

// Counters since the log was opened, for `zenfs fs-info`, statistics and tests.
struct MetalogStats {
  std::uint64_t commits = 0;         // Commit calls that succeeded
  std::uint64_t frames_written = 0;  // device writes of commit frames
  std::uint64_t bytes_written = 0;   // including padding and snapshots
  std::uint64_t switches = 0;
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;  // of the last commit
  // Zones that hold each frame of the current generation, and the number that the volume wants.
  std::uint32_t copies = 1;
  std::uint32_t wanted_copies = 1;
  // If the replay found that a copy of the log, or a part of one, is lost: what was lost and what was done; otherwise empty.
  // For the notices of the mount.
  std::string lost_copy;
};

class Metalog {
 public:
  // For mkfs: resets all metadata zones, writes generation 1, with the state that `initial` describes, to the first ones, and
  // a copy of the superblock to the others, as far as the device's limit of active zones allows.
  // The caller has checked that the device may be overwritten.
  [[nodiscard]] static Status Format(ZonedDevice& device, const Superblock& superblock,
                                     std::span<const Edit> initial);

  struct NewGeneration {
    std::uint64_t generation = 0;  // higher than all existing ones; each retry takes the next number
    std::uint64_t sequence = 0;    // the state is as of this commit
    std::vector<ZoneId> keep;      // zones whose contents must stay
    // They may be finished if no active slot is free. False if their write pointers mean something.
    bool may_finish_kept = true;
  };
  // For repair and upgrade: writes `state` as a complete generation, whatever the metadata zones hold. Once this returns OK, and not
  // before, that generation is the current one. Errors: kNoSpace if the zones outside `keep` can't hold it; the device's.
  [[nodiscard]] static Status Rebuild(ZonedDevice& device, const Superblock& superblock, const State& state,
                                      const NewGeneration& wanted);

  // Replays the newest complete generation. Never writes to a device that was opened read-only. `approve`, if given, gets the
  // replayed state before anything is written; its error is returned.
  // Errors: kCorruption if a generation that was complete cannot be read (the text names the commits that may be
  // missing); kReadOnly if `device` is exclusive but only a read-only mount is safe, as while an upgrade is being undone.
  [[nodiscard]] static Result<std::unique_ptr<Metalog>> Open(
      ZonedDevice& device, const Superblock& superblock,
      const std::function<Status(const State&)>& approve = {});

  // Returns true if Open would finish data zones, because they hold the active slots that a log switch needs.
  [[nodiscard]] static Result<bool> WouldFinishData(ZonedDevice& device, const Superblock& superblock);

  // A log that continues behind `replayed`. For Open, and for tests of damage; others call Open.
  Metalog(ZonedDevice& device, const Superblock& superblock, Replayed replayed);
  ~Metalog() { Stop(); }

  // The committed state when the log was opened.
  const State& recovered() const { return recovered_; }
  // Call at most once, before the first Commit. Not owned.
  void SetSink(CommitSink* sink) EXCLUDES(mutex_);
  // Counts log switches and written bytes in `metrics`. Call at most once, before the first Commit. Not owned.
  void SetMetrics(Metrics* metrics) EXCLUDES(mutex_);

  // If a zone becomes full, read-only or offline, the commit is retried in another zone first. Errors, all of which mean
  // "not committed" except kUnknownOutcome:
  //   kIo              a failed flush may have lost the data (nothing was written), or the device failed and the log
  //                    switched to another zone without this commit
  //   kBusy            the device's limits leave no zone to write to
  //   kUnknownOutcome  the device failed and so did the log switch; every later call returns kReadOnly
  //   kCorruption      the log contradicts itself (a bug; nothing was written); every later call returns the same
  //   kNoSpace         the state would no longer fit the metadata zones
  //   kShutdown        after Stop
  [[nodiscard]] Status Commit(std::vector<Edit> edits, CommitOptions options = {}) noexcept EXCLUDES(mutex_);

  // Returns kNoSpace if a commit that makes the state `bytes` larger would be refused now. Lets a caller fail before it
  // writes data that it could not commit.
  [[nodiscard]] Status CheckRoom(std::uint64_t bytes) EXCLUDES(mutex_);

  // Runs a log switch and waits for it. For tests, and for a mount that found a torn tail.
  [[nodiscard]] Status Switch() noexcept EXCLUDES(mutex_);

  // --- the zones of the log ---
  // All zones that belong to the log: those of the superblock first, then those that were added.
  std::vector<ZoneId> zones() const { return zones_.zones(); }
  // Number of zones that the log wants, because the next commits may make the snapshot too large for those that it has; 0
  // if it wants none, or another thread has claimed them. Cheap. After another answer than 0, call AddZones.
  std::uint32_t ClaimWantedZones() EXCLUDES(mutex_);
  // Gives empty zones to the log: as many as were claimed, or none. Starts the log switch that names them on the device; after a
  // crash before its end they are empty zones as any other.
  void AddZones(std::span<const ZoneInfo> zones) EXCLUDES(mutex_);
  // Returns the zones that the log does not need any more. They are empty, and no header names them. Cheap if there are none.
  std::vector<ZoneId> TakeFreedZones() EXCLUDES(mutex_);

  // Waits for the running log switch, if there is one.
  void AwaitSwitch() EXCLUDES(mutex_);

  // Waits for commits and a running log switch. Later calls fail with kShutdown, and the device may be destroyed.
  void Stop() EXCLUDES(mutex_);

  // Once the log is read-only: the reason. OK before.
  Status health() const EXCLUDES(mutex_);
  MetalogStats stats() const EXCLUDES(mutex_);

 private:
  // One turn in a role: of the leader (group_commit.cc), and of the switch (checkpoint.cc).
  class BatchLead;
  class Checkpoint;

  // For an exclusive device: makes the replayed log durable. Runs a log switch if the log cannot continue at its tail, if no
  // zone of the current generation has a valid superblock, or to replace a copy that is lost. The flags are as in Replayed.
  Status BeginWriting(bool newer_traces, bool has_lost_copies) EXCLUDES(mutex_);
  // Makes the second copy whole, if zones for it are good. Without them the log goes on with what it has.
  Status ReplaceLostCopy(const std::vector<ZoneId>& chain, bool has_lost_copies) EXCLUDES(mutex_);

  Status Admit(const CommitCall& call) const REQUIRES(mutex_);
  Status CheckSpace(Growth growth, std::uint64_t bytes) REQUIRES(mutex_);
  MetalogSpace space() const REQUIRES(mutex_);
  // Sets wanted_zones_. Call it after each change of the replica or of the zones. `bytes`: of a commit that found no room.
  void NoteWanted(std::uint64_t bytes = 0) REQUIRES(mutex_);
  // Leads for the next batch, of which `self` is the first call.
  void LeadBatch(CommitCall& self) REQUIRES(mutex_);
  // Runs a log switch, in this thread.
  void RunCheckpoint() EXCLUDES(mutex_);

  // `applied`: how the replica took commits. After an error the log is read-only, because replay would fail, too.
  void CheckReplica(const Status& applied) REQUIRES(mutex_);
  // Makes the log read-only and fails all queued calls. Only the first reason is kept.
  void GoReadOnly(const Error& why) REQUIRES(mutex_);
  // Raises the counters of the metrics to those of the log. Precondition: current_.has_writer().
  void CountWritten() REQUIRES(mutex_);

  ZonedDevice& device_;
  const Superblock superblock_;
  const MetazoneLayout layout_;
  const std::uint32_t wanted_copies_;  // zones that each frame is written to, while enough are good
  const std::size_t spare_slots_;      // for zones of superseded generations
  const State recovered_;
  Metazones zones_;

  mutable Mutex mutex_{LockRank::kMetalog};
  CommitQueue queue_ GUARDED_BY(mutex_);
  CurrentGeneration current_ GUARDED_BY(mutex_);
  Replica replica_ GUARDED_BY(mutex_);
  LogSwitch log_switch_ GUARDED_BY(mutex_);
  std::uint64_t smallest_zone_bytes_ GUARDED_BY(mutex_);  // room for frames in the smallest metadata zone
  CommitSink* sink_ GUARDED_BY(mutex_) = nullptr;
  Metrics* metrics_ GUARDED_BY(mutex_) = nullptr;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Status health_ GUARDED_BY(mutex_);
  MetalogStats stats_ GUARDED_BY(mutex_);
  bool zones_claimed_ GUARDED_BY(mutex_) = false;  // a thread took wanted_zones_ and has not called AddZones
  std::vector<ZoneId> freed_zones_ GUARDED_BY(mutex_);  // for TakeFreedZones

  // Written with mutex_ held, read without it.
  std::atomic<std::uint32_t> wanted_zones_{0};
  std::atomic<bool> has_freed_zones_{false};
};

}  // namespace zenfs
