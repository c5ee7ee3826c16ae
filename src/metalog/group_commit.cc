#include "metalog/group_commit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/clock.h"
#include "base/sync_point.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "metalog/metalog.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMaxBatchBytes = 1 << 20;
constexpr int kMaxTries = 4;
// Limit of a commit's wait for a free slot of the device. Other users of the device share its slots.
constexpr std::chrono::seconds kSlotWait{30};
constexpr std::chrono::milliseconds kBusyPause{5};
// Limits of a leader's wait for further commits: this time, and a quarter of the duration of the last write.
constexpr std::chrono::microseconds kMaxGather{500};
constexpr int kGatherFraction = 4;

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

// --- a commit, until it is queued and until it is done ---

Status Metalog::Commit(std::vector<Edit> edits, CommitOptions options) noexcept {
  if (edits.empty()) return options.data_since ? FlushWrittenSince(device_, *options.data_since) : Status{};
  CommitCall self;
  const Growth growth = GrowthOf(edits);
  self.edits = std::make_shared<const std::vector<Edit>>(std::move(edits));
  EncodeEdits(*self.edits, self.encoded);
  self.data_since = options.data_since;
  self.reserved = growth == Growth::kShrinks ? 0 : 2 * self.encoded.size();

  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Admit(self));
  Status there = CheckSpace(growth, self.reserved);
  if (!there.ok() && zones_.HasFresh() && log_switch_.running()) {
    log_switch_.AwaitEnd(mutex_);  // it makes room
    ZENFS_RETURN_IF_ERROR(Admit(self));
    there = CheckSpace(growth, self.reserved);
  }
  ZENFS_RETURN_IF_ERROR(there);
  replica_.Reserve(self.reserved);
  queue_.BeginCall();
  queue_.Push(self);
  SyncPoint::Reach("Metalog::Commit:queued");  // with the lock held: a handler only counts
  while (!self.done) {
    if (queue_.MayLead(self) && !current_.fenced()) {
      LeadBatch(self);
    } else {
      self.wake.Wait(mutex_);
    }
  }
  queue_.EndCall();
  return self.result;
}

Status Metalog::Admit(const CommitCall& call) const {
  if (!health_.ok()) return health_;
  if (!current_.has_writer())
    return Fail(Code::kReadOnly, fmt::format("{}: the metadata log was opened read-only", device_.name()));
  if (stopping_)
    return Fail(Code::kShutdown, fmt::format("{}: the metadata log was stopped", device_.name()));
  const std::uint64_t most = std::min<std::uint64_t>(
      kMaxFramePayload,
      smallest_zone_bytes_ -
          std::min(smallest_zone_bytes_, (2 + wanted_copies_) * std::uint64_t{layout_.block_size}));
  if (call.encoded.size() + kMaxCountBytes > most) {
    return Fail(Code::kNoSpace,
                fmt::format("{}: a commit of {} bytes is too large for a metadata zone (at most {} bytes)",
                            device_.name(), call.encoded.size(), most));
  }
  return {};
}

// A log switch needs room for two snapshots, the old and the new one.
Status Metalog::CheckSpace(Growth growth, std::uint64_t bytes) {
  if (growth == Growth::kShrinks) return {};
  const MetalogSpace now = space();
  constexpr std::uint32_t kMinZones = 2;
  if (now.zones < kMinZones) {
    return Fail(Code::kNoSpace,
                fmt::format("{}: only {} of {} metadata zones can be written: delete files, or remount",
                            device_.name(), now.zones, zones_.size()));
  }
  const std::uint64_t used = replica_.used_bytes();
  const std::uint64_t limit = now.SnapshotLimit(growth);
  if (used + bytes <= limit) return {};
  NoteWanted(bytes);
  std::string advice;
  if (!superblock_.may_add_metadata_zones()) {
    advice = fmt::format(
        ": delete files, or restore a backup after zenfs mkfs --metadata-zones with more than {} zones",
        zones_.size());
  } else if (!now.may_grow) {
    advice = fmt::format(", a volume has at most {} metadata zones: delete files", kMaxMetadataZones);
  } else {
    advice = ", and no other zones are empty: delete files";
  }
  return Fail(Code::kNoSpace, fmt::format("{}: the metadata zones are full ({} of {} bytes){}",
                                          device_.name(), used, limit, advice));
}

Status Metalog::CheckRoom(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (!health_.ok()) return health_;
  return CheckSpace(Growth::kGrows, bytes);
}

// --- the lead for one batch ---

// Before each batch, all builds check that its sequences follow the last commit and that it stays within its zone. If
// not, nothing is written and the log becomes read-only (kCorruption).
//
// Edits are not validated before they are written: the catalog has applied them to its own State with the same code. An
// edit that contradicts the log's replica is a bug. The log then becomes read-only (kCorruption), because replay would
// fail at that edit too.
class Metalog::BatchLead {
 public:
  explicit BatchLead(Metalog& log) : log_(log) {}

  // For the analysis of locks, which does not see that the lock is that of the caller.
  void AssertLocked() const ASSERT_CAPABILITY(log_.mutex_) {}
  // `self`: the first call in the queue.
  void Run(CommitCall& self) REQUIRES(log_.mutex_);

 private:
  void TakeBatch() REQUIRES(log_.mutex_);
  // Refuses the calls whose data a failed flush may have lost.
  void RefuseLost() REQUIRES(log_.mutex_);
  // `writer`: that of the current generation, which does not change while this thread leads.
  Status Write(GenerationWriter& writer) const EXCLUDES(log_.mutex_);
  void Publish() REQUIRES(log_.mutex_);
  void Fence(const Error& error) REQUIRES(log_.mutex_);
  void WaitForRoom(CommitCall& self) REQUIRES(log_.mutex_);
  // All calls of the batch fail, and their edits are not in the log.
  void Refuse(const Error& error) REQUIRES(log_.mutex_);
  void Refuse(CommitCall& call, const Error& error) REQUIRES(log_.mutex_);

  Metalog& log_;
  CommitBatch batch_;
};

void Metalog::LeadBatch(CommitCall& self) {
  BatchLead lead(*this);
  lead.AssertLocked();
  lead.Run(self);
}

void Metalog::BatchLead::Run(CommitCall& self) {
  ZENFS_ASSERT(log_.health_.ok() && log_.queue_.MayLead(self) && log_.current_.clean());
  log_.queue_.Lead();
  log_.queue_.Gather(log_.mutex_);
  TakeBatch();
  GenerationWriter& writer = log_.current_.writer();
  const Status next = writer.CheckNextCommit(batch_.first_sequence, batch_.first_sequence);
  if (!next.ok()) {  // the log contradicts itself; nothing was written
    log_.GoReadOnly(next.error().With(log_.device_.name() + ": the volume is read-only from now on"));
    Refuse(log_.health_.error());
    return log_.queue_.EndLead();
  }
  if (batch_.calls.empty()) {
    log_.queue_.EndLead();
    return WaitForRoom(self);
  }
  const SteadyTime begin = SteadyNow();
  log_.mutex_.Unlock();
  const Status flushed = batch_.flush_data_first ? FlushDevice(log_.device_) : Status{};
  log_.mutex_.Lock();
  if (flushed.ok()) RefuseLost();
  if (flushed.ok() && batch_.calls.empty()) return log_.queue_.EndLead();
  log_.mutex_.Unlock();
  const Status written = flushed.ok() ? Write(writer) : Status{};
  log_.mutex_.Lock();
  log_.queue_.NoteWrite(batch_.calls.size(), SteadyNow() - begin);
  if (!flushed.ok()) {  // nothing was written, so the outcome is known
    Refuse(flushed.error());
    log_.queue_.EndLead();
  } else if (written.ok()) {
    Publish();
    if (!log_.log_switch_.running() && log_.current_.WantsSwitch()) {
      // Retried after the next commit. A commit without room starts one itself.
      IgnoreError(log_.log_switch_.Start(0));
    }
    log_.queue_.EndLead();
  } else {
    Fence(written.error());
  }
}

void Metalog::BatchLead::TakeBatch() {
  // The last blocks stay free for the SwitchBegin frames: one, or a second one if the log switch finds zones for one copy only.
  const std::uint64_t room =
      log_.current_.writer().PayloadRoom(std::uint64_t{log_.wanted_copies_} * log_.layout_.block_size);
  batch_ = log_.queue_.TakeBatch(log_.stats_.sequence + 1, std::min(kMaxBatchBytes, room), room);
}

// A later successful flush does not prove that the data is durable.
void Metalog::BatchLead::RefuseLost() {
  std::erase_if(batch_.calls, [&](CommitCall* call) {
    log_.mutex_.AssertHeld();
    if (!call->data_since || !call->data_since->FlushFailedSince(log_.device_)) return false;
    Refuse(*call, Error(Code::kIo, fmt::format("{}: a commit of new bytes was refused: {}",
                                               log_.device_.name(), kLostToAFlush)));
    return true;
  });
}

Status Metalog::BatchLead::Write(GenerationWriter& writer) const {
  SyncPoint::Reach("Metalog::BatchLead::Write");
  std::vector<const std::string*> lists;
  for (const CommitCall* call : batch_.calls) lists.push_back(&call->encoded);
  const FlushMark mark = FlushMark::Now(log_.device_);
  const std::string payload = EncodeCommit(lists);
  const Deadline deadline = Deadline::After(kSlotWait);
  for (;;) {
    const Status written =
        writer.Write(FrameKind::kCommit, payload, batch_.first_sequence, batch_.last_sequence());
    if (written.ok()) return FlushWrittenSince(log_.device_, mark);
    // kBusy: nothing was written, and the zone is unchanged.
    if (written.error().code() != Code::kBusy || deadline.Passed()) return written;
    SleepUntil(std::min(deadline.when(), SteadyNow() + kBusyPause));
  }
}

// The batch is durable. Applies it to the replica, passes it to the sink, both in log order, and wakes the callers.
void Metalog::BatchLead::Publish() {
  ZENFS_ASSERT(log_.queue_.led() && !log_.current_.fenced() &&
               batch_.first_sequence == log_.stats_.sequence + 1);
  log_.stats_.sequence = batch_.last_sequence();
  log_.stats_.commits += batch_.calls.size();
  ++log_.stats_.frames_written;
  log_.CountWritten();
  for (CommitCall* call : batch_.calls)
    log_.CheckReplica(log_.replica_.Add(call->edits, call->encoded, call->reserved));
  log_.NoteWanted();
  if (CommitSink* sink = log_.sink_; sink != nullptr) {
    log_.mutex_.Unlock();
    for (const CommitCall* call : batch_.calls) sink->OnCommitted(*call->edits);
    log_.mutex_.Lock();
  }
  for (CommitCall* call : batch_.calls) call->Complete(log_.health_);  // an error only after a bug
}

// The outcome of the batch's write is unknown. Nothing more is written to this generation. Once a log switch has completed
// a newer generation without the batch, the batch is known not to be committed. The callers wait for that.
void Metalog::BatchLead::Fence(const Error& error) {
  log_.current_.Fence();
  log_.queue_.EndLead();
  SyncPoint::Reach("Metalog::BatchLead::Fence:fenced");  // with the lock held
  const Status switched = log_.log_switch_.StartAndWait(log_.mutex_, 0);
  // The health may have changed before this thread woke. Then the queue was emptied and must stay empty.
  if (switched.ok() && log_.health_.ok() && NeedsAnotherZone(error.code()) &&
      batch_.calls.front()->tries < kMaxTries) {
    for (CommitCall* call : batch_.calls) ++call->tries;
    log_.queue_.PutBack(batch_);
    return;
  }
  if (switched.ok()) {
    Refuse(error.With("not committed").As(Told(error.code())));
  } else {
    Refuse(Error(Code::kUnknownOutcome,
                 fmt::format("a remount may or may not find this commit: {}; the log switch failed too: {}",
                             error.text(), switched.error().text())));
  }
  log_.queue_.WakeNext();
}

// The commit at the head of the queue does not fit the current zone. Runs a log switch.
void Metalog::BatchLead::WaitForRoom(CommitCall& self) {
  const Status switched =
      log_.log_switch_.StartAndWait(log_.mutex_, kFrameHeaderBytes + kMaxCountBytes + self.encoded.size());
  if (switched.ok() || self.done) return;
  // Nothing was written, so only this commit fails. Smaller ones may still fit.
  log_.queue_.Remove(self);
  const Error& why = switched.error();
  // There is always room for a commit that only removes, so its error is that of zones that can't be written.
  const bool removes = self.reserved == 0 && why.code() == Code::kNoSpace;
  Refuse(self, why.With(log_.device_.name() + ": no room in the metadata log")
                   .As(removes ? Code::kIo : Told(why.code())));
  log_.queue_.WakeNext();
}

void Metalog::BatchLead::Refuse(const Error& error) {
  for (CommitCall* call : batch_.calls) Refuse(*call, error);
}

void Metalog::BatchLead::Refuse(CommitCall& call, const Error& error) {
  log_.replica_.Release(call.reserved);
  call.Complete(Fail(error));
}

// --- the queue and the lead ---

void CommitQueue::Push(CommitCall& call) {
  ZENFS_ASSERT(!call.done);
  queue_.push_back(&call);
  gathered_.NotifyOne();
}

void CommitQueue::PutBack(const CommitBatch& batch) {
  queue_.insert(queue_.begin(), batch.calls.begin(), batch.calls.end());
  WakeNext();
}

CommitBatch CommitQueue::TakeBatch(std::uint64_t first_sequence, std::uint64_t limit, std::uint64_t room) {
  ZENFS_ASSERT(led_ && limit <= room);
  CommitBatch batch{.calls = {}, .first_sequence = first_sequence};
  std::uint64_t bytes = kMaxCountBytes;
  while (!queue_.empty()) {
    CommitCall* next = queue_.front();
    bytes += next->encoded.size();
    if (bytes > (batch.calls.empty() ? room : limit)) break;
    batch.flush_data_first |= next->data_since.has_value();
    batch.calls.push_back(next);
    queue_.pop_front();
  }
  return batch;
}

void CommitQueue::Lead() {
  ZENFS_ASSERT(!led_);
  led_ = true;
}

void CommitQueue::LeadForSwitch(Mutex& mutex) {
  ZENFS_ASSERT(!switch_wants_lead_);
  switch_wants_lead_ = true;
  gathered_.NotifyAll();
  while (led_) lead_ended_.Wait(mutex);
  switch_wants_lead_ = false;
  led_ = true;
}

void CommitQueue::EndLead() {
  ZENFS_ASSERT(led_);
  led_ = false;
  WakeNext();
}

void CommitQueue::WakeNext() {
  if (switch_wants_lead_) lead_ended_.NotifyAll();
  if (!queue_.empty()) queue_.front()->wake.NotifyOne();
}

void CommitQueue::Gather(Mutex& mutex) {
  ZENFS_ASSERT(led_);
  const std::size_t expected = last_batch_calls_ - last_batch_calls_ / 4;
  if (queue_.size() >= expected) return;
  const auto span = std::min<std::chrono::nanoseconds>(last_write_time_ / kGatherFraction, kMaxGather);
  const Deadline deadline = Deadline::After(span);
  while (queue_.size() < expected && !switch_wants_lead_) {
    if (!gathered_.WaitUntil(mutex, deadline)) return;
  }
}

void CommitQueue::NoteWrite(std::size_t calls, std::chrono::nanoseconds time) {
  last_batch_calls_ = calls;
  last_write_time_ = time;
}

void CommitQueue::EndCall() {
  ZENFS_ASSERT(active_ != 0);
  if (--active_ == 0) idle_.NotifyAll();
}

void CommitQueue::AwaitIdle(Mutex& mutex) {
  while (!idle()) idle_.Wait(mutex);
}

}  // namespace zenfs
