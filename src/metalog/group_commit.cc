#include "metalog/group_commit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/clock.h"
#include "base/sync_point.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "metalog/flush.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMaxBatchBytes = 1 << 20;
constexpr int kMaxTries = 4;
// Limit of a commit's wait for a free slot of the device. Other users of the device share its slots.
constexpr std::chrono::seconds kSlotWait{30};
constexpr std::chrono::milliseconds kBusyPause{5};

// Returns true for errors of a write to a zone that takes no more writes. The zone may hold this write or a part of it.
// So the batch is written again only after a log switch has moved the log to another zone.
bool NeedsAnotherZone(Code code) {
  return code == Code::kZoneFull || code == Code::kReadOnly || code == Code::kNotFound;
}

// The code for the caller of a refused commit. Codes about a single zone become kIo, because the log itself continues.
Code Told(Code code) {
  return code == Code::kBusy || code == Code::kNoSpace || code == Code::kShutdown ? code : Code::kIo;
}

}  // namespace

Status GroupCommit::Commit(std::vector<Edit> edits, CommitOptions options) noexcept {
  if (edits.empty()) {
    return options.data_since ? FlushWrittenSince(log_.device, *options.data_since) : Status{};
  }
  CommitCall self;
  const Growth growth = GrowthOf(edits);
  self.edits = std::make_shared<const std::vector<Edit>>(std::move(edits));
  EncodeEdits(*self.edits, self.encoded);
  self.data_since = options.data_since;
  self.reserved = growth == Growth::kShrinks ? 0 : 2 * self.encoded.size();

  MutexLock lock(log_.mutex);
  ZENFS_RETURN_IF_ERROR(Admit(self));
  ZENFS_RETURN_IF_ERROR(FindSpace(self, growth));
  log_.replica.Reserve(self.reserved);
  log_.queue.BeginCall();
  log_.queue.Push(self);
  SyncPoint::Reach("metalog:queued");  // with the lock held: a handler only counts
  while (!self.done) {
    if (log_.queue.MayLead(self) && !log_.current.fenced()) {
      Lead(self);
    } else {
      self.wake.Wait(log_.mutex);
    }
  }
  log_.queue.EndCall();
  return self.result;
}

Status GroupCommit::Admit(const CommitCall& call) {
  if (!log_.health.ok()) return log_.health;
  if (!log_.current.has_writer()) {
    return Fail(Code::kReadOnly,
                fmt::format("{}: the metadata log was opened read-only", log_.device.name()));
  }
  if (log_.stopping)
    return Fail(Code::kShutdown, fmt::format("{}: the metadata log was stopped", log_.device.name()));
  const std::uint64_t zone = log_.space().zone_bytes;
  const std::uint64_t most = std::min<std::uint64_t>(
      kMaxFramePayload, zone - std::min(zone, (2 + log_.copies) * std::uint64_t{log_.layout.block_size}));
  if (call.encoded.size() + kMaxCountBytes > most) {
    return Fail(Code::kNoSpace,
                fmt::format("{}: a commit of {} bytes is too large for a metadata zone (at most {} bytes)",
                            log_.device.name(), call.encoded.size(), most));
  }
  return {};
}

Status GroupCommit::FindSpace(const CommitCall& call, Growth growth) {
  if (growth == Growth::kShrinks) return {};
  const Status there = CheckSpace(growth, call.reserved);
  if (there.ok() || !log_.zones.HasFresh() || !log_.log_switch.running()) return there;
  log_.log_switch.AwaitEnd(log_.mutex);  // it makes room
  ZENFS_RETURN_IF_ERROR(Admit(call));
  return CheckSpace(growth, call.reserved);
}

// A log switch needs room for two snapshots, the old and the new one.
Status GroupCommit::CheckSpace(Growth growth, std::uint64_t bytes) const {
  const MetalogSpace space = log_.space();
  constexpr std::uint32_t kMinZones = 2;
  if (space.zones < kMinZones) {
    return Fail(Code::kNoSpace,
                fmt::format("{}: only {} of {} metadata zones can be written: delete files, or remount",
                            log_.device.name(), space.zones, log_.zones.size()));
  }
  const std::uint64_t used = log_.replica.used_bytes();
  const std::uint64_t limit = space.SnapshotLimit(growth);
  if (used + bytes <= limit) return {};
  log_.NoteWanted(bytes);
  return Fail(Code::kNoSpace, fmt::format("{}: the metadata zones are full ({} of {} bytes){}",
                                          log_.device.name(), used, limit, WayOut()));
}

std::string GroupCommit::WayOut() const {
  if (!log_.superblock.may_add_metadata_zones()) {
    return fmt::format(
        ": delete files, or restore a backup after zenfs mkfs --metadata-zones with more than {} zones",
        log_.zones.size());
  }
  if (!log_.MayHaveMoreZones())
    return fmt::format(", a volume has at most {} metadata zones: delete files", kMaxMetadataZones);
  return ", and no other zones are empty: delete files";
}

Status GroupCommit::CheckRoom(std::uint64_t bytes) const {
  MutexLock lock(log_.mutex);
  if (!log_.health.ok()) return log_.health;
  return CheckSpace(Growth::kGrows, bytes);
}

void GroupCommit::Lead(CommitCall& self) {
  ZENFS_ASSERT(log_.current.clean());
  log_.queue.Lead();
  log_.queue.Gather(log_.mutex);
  CommitBatch batch = TakeBatch();
  GenerationWriter& writer = log_.current.writer();
  const Status next = writer.CheckNextCommit(batch.first_sequence, batch.first_sequence);
  if (!next.ok()) return EndForGood(batch, next.error());
  if (batch.calls.empty()) {
    log_.queue.EndLead();
    WaitForRoom(self);
    return;
  }
  const SteadyTime begin = SteadyNow();
  log_.mutex.Unlock();
  const Status flushed = batch.flush_data_first ? FlushDevice(log_.device) : Status{};
  log_.mutex.Lock();
  if (flushed.ok()) RefuseLost(batch);
  if (flushed.ok() && batch.calls.empty()) return log_.queue.EndLead();
  log_.mutex.Unlock();
  const Status written = flushed.ok() ? WriteBatch(batch, writer) : Status{};
  log_.mutex.Lock();
  log_.queue.NoteWrite(batch.calls.size(), SteadyNow() - begin);
  if (!flushed.ok()) {  // nothing was written, so the outcome is known
    Refuse(batch, flushed.error());
    log_.queue.EndLead();
  } else if (written.ok()) {
    Publish(batch);
    if (!log_.log_switch.running() && log_.current.WantsSwitch()) {
      // Retried after the next commit. A commit without room starts one itself.
      IgnoreError(log_.log_switch.Start(0));
    }
    log_.queue.EndLead();
  } else {
    Fence(batch, written.error());
  }
}

CommitBatch GroupCommit::TakeBatch() {
  // The last blocks stay free for the SwitchBegin frames: one, or a second one if the log switch finds zones for one copy only.
  const std::uint64_t room =
      log_.current.writer().PayloadRoom(std::uint64_t{log_.copies} * log_.layout.block_size);
  return log_.queue.TakeBatch(log_.stats.sequence + 1, std::min(kMaxBatchBytes, room), room);
}

Status GroupCommit::WriteBatch(const CommitBatch& batch, GenerationWriter& writer) {
  SyncPoint::Reach("metalog:write");
  std::vector<const std::string*> lists;
  for (const CommitCall* call : batch.calls) lists.push_back(&call->encoded);
  const FlushMark mark = FlushMark::Now(log_.device);
  const std::string payload = EncodeCommit(lists);
  const Deadline deadline = Deadline::After(kSlotWait);
  for (;;) {
    const Status written =
        writer.Write(FrameKind::kCommit, payload, batch.first_sequence, batch.last_sequence());
    if (written.ok()) return FlushWrittenSince(log_.device, mark);
    // kBusy: nothing was written, and the zone is unchanged.
    if (written.error().code() != Code::kBusy || deadline.Passed()) return written;
    SleepUntil(std::min(deadline.when(), SteadyNow() + kBusyPause));
  }
}

// The batch is durable. Applies it to the replica, passes it to the sink, both in log order, and wakes the callers.
void GroupCommit::Publish(const CommitBatch& batch) {
  ZENFS_ASSERT(log_.queue.led() && !log_.current.fenced() && batch.first_sequence == log_.stats.sequence + 1);
  log_.stats.sequence = batch.last_sequence();
  log_.stats.commits += batch.calls.size();
  ++log_.stats.frames_written;
  log_.CountWritten();
  for (CommitCall* call : batch.calls)
    log_.CheckReplica(log_.replica.Add(call->edits, call->encoded, call->reserved));
  log_.NoteWanted();
  if (CommitSink* sink = log_.sink; sink != nullptr) {
    log_.mutex.Unlock();
    for (const CommitCall* call : batch.calls) sink->OnCommitted(*call->edits);
    log_.mutex.Lock();
  }
  for (CommitCall* call : batch.calls) call->Complete(log_.health);  // an error only after a bug
}

// The outcome of the batch's write is unknown. Nothing more is written to this generation. Once a log switch has completed
// a newer generation without the batch, the batch is known not to be committed. The callers wait for that.
void GroupCommit::Fence(const CommitBatch& batch, const Error& error) {
  log_.current.Fence();
  log_.queue.EndLead();
  SyncPoint::Reach("metalog:fenced");  // with the lock held
  const Status switched = log_.log_switch.StartAndWait(log_.mutex, 0);
  // `health` may have changed before this thread woke. Then the queue was emptied and must stay empty.
  if (switched.ok() && log_.health.ok() && NeedsAnotherZone(error.code()) &&
      batch.calls.front()->tries < kMaxTries) {
    for (CommitCall* call : batch.calls) ++call->tries;
    log_.queue.PutBack(batch);
    return;
  }
  if (switched.ok()) {
    Refuse(batch, error.With("not committed").As(Told(error.code())));
  } else {
    Refuse(batch,
           Error(Code::kUnknownOutcome,
                 fmt::format("a remount may or may not find this commit: {}; the log switch failed too: {}",
                             error.text(), switched.error().text())));
  }
  log_.queue.WakeNext();
}

// The log contradicts itself. The batch was not written.
void GroupCommit::EndForGood(const CommitBatch& batch, const Error& error) {
  log_.GoReadOnly(error.With(log_.device.name() + ": the volume is read-only from now on"));
  Refuse(batch, log_.health.error());
  log_.queue.EndLead();
}

void GroupCommit::Refuse(const CommitBatch& batch, const Error& error) {
  for (CommitCall* call : batch.calls) log_.Refuse(*call, error);
}

// Refuses the calls whose data a failed flush may have lost. A later successful flush does not prove that the data is
// durable.
void GroupCommit::RefuseLost(CommitBatch& batch) {
  std::erase_if(batch.calls, [&](CommitCall* call) {
    log_.mutex.AssertHeld();
    if (!call->data_since || !call->data_since->FlushFailedSince(log_.device)) return false;
    log_.Refuse(*call, Error(Code::kIo, fmt::format("{}: a commit of new bytes was refused: {}",
                                                    log_.device.name(), kLostToAFlush)));
    return true;
  });
}

// The commit at the head of the queue does not fit the current zone. Runs a log switch.
void GroupCommit::WaitForRoom(CommitCall& self) {
  const Status switched =
      log_.log_switch.StartAndWait(log_.mutex, kFrameHeaderBytes + kMaxCountBytes + self.encoded.size());
  if (switched.ok() || self.done) return;
  // Nothing was written, so only this commit fails. Smaller ones may still fit.
  log_.queue.Remove(self);
  const Error& why = switched.error();
  // There is always room for a commit that only removes, so its error is that of zones that can't be written.
  const bool removes = self.reserved == 0 && why.code() == Code::kNoSpace;
  log_.Refuse(self, why.With(log_.device.name() + ": no room in the metadata log")
                        .As(removes ? Code::kIo : Told(why.code())));
  log_.queue.WakeNext();
}

}  // namespace zenfs
