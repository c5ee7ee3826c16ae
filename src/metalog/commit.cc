// Group commit: each committing thread queues its edits. If no thread leads, the first one in the queue leads and writes
// all queued edits as one frame, while the other threads wait.
#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/clock.h"
#include "base/sync_point.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "metalog/flush.h"
#include "metalog/metalog_impl.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMaxBatchBytes = 1 << 20;
constexpr std::size_t kMaxCountBytes = 10;
constexpr int kMaxTries = 4;
// Limits of a leader's wait for further commits: this time, and a quarter of the duration of the last write.
constexpr std::chrono::microseconds kMaxGather{500};
constexpr int kGatherFraction = 4;
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

Status MetalogImpl::Commit(std::vector<Edit> edits, CommitOptions options) noexcept {
  if (edits.empty()) {
    return options.data_since ? FlushWrittenSince(device_, *options.data_since) : Status{};
  }
  Member self;
  const Growth growth = GrowthOf(edits);
  self.edits = std::make_shared<const std::vector<Edit>>(std::move(edits));
  EncodeEdits(*self.edits, self.encoded);
  self.data_since = options.data_since;
  self.growth = growth == Growth::kShrinks ? 0 : 2 * self.encoded.size();

  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Admit(self));
  if (growth != Growth::kShrinks) ZENFS_RETURN_IF_ERROR(CheckSpace(growth, self.growth));
  unapplied_growth_ += self.growth;
  ++commits_active_;
  queue_.push_back(&self);
  SyncPoint::Reach("metalog:queued");  // with the lock held: a handler only counts
  gathered_.NotifyOne();
  while (!self.done) {
    if (MayLead(self)) {
      Lead(self);
    } else {
      self.wake.Wait(mutex_);
    }
  }
  ZENFS_ASSERT(commits_active_ != 0);
  if (--commits_active_ == 0) idle_.NotifyAll();
  return self.result;
}

Status MetalogImpl::Admit(Member& member) {
  if (!health_.ok()) return health_;
  if (current_ == nullptr) {
    return Fail(Code::kReadOnly, fmt::format("{}: the metadata log was opened read-only", device_.name()));
  }
  if (stopping_)
    return Fail(Code::kShutdown, fmt::format("{}: the metadata log was stopped", device_.name()));
  const std::uint64_t zone = space().zone_bytes;
  const std::uint64_t most =
      std::min<std::uint64_t>(kMaxFramePayload, zone - std::min(zone, 3 * std::uint64_t{layout_.block_size}));
  if (member.encoded.size() + kMaxCountBytes > most) {
    return Fail(Code::kNoSpace,
                fmt::format("{}: a commit of {} bytes is too large for a metadata zone (at most {} bytes)",
                            device_.name(), member.encoded.size(), most));
  }
  return {};
}

// A log switch needs room for two snapshots, the old and the new one.
Status MetalogImpl::CheckSpace(Growth growth, std::uint64_t bytes) const {
  const MetalogSpace space = this->space();
  constexpr std::uint32_t kMinZones = 2;
  if (space.zones < kMinZones) {
    return Fail(Code::kNoSpace,
                fmt::format("{}: only {} of {} metadata zones can be written: delete files, or remount",
                            device_.name(), space.zones, zones_.zones().size()));
  }
  const std::uint64_t used = footprint_.bytes() + unapplied_growth_;
  const std::uint64_t limit = space.SnapshotLimit(growth);
  if (used + bytes <= limit) return {};
  return Fail(Code::kNoSpace,
              fmt::format("{}: the metadata zones are full ({} of {} bytes): delete files, or make the "
                          "file system with more metadata zones",
                          device_.name(), used, limit));
}

Status MetalogImpl::CheckRoom(std::uint64_t bytes) const {
  MutexLock lock(mutex_);
  if (!health_.ok()) return health_;
  return CheckSpace(Growth::kGrows, bytes);
}

bool MetalogImpl::MayLead(const Member& member) const {
  return !leading_ && !switch_wants_lead_ && !fenced_ && !queue_.empty() && queue_.front() == &member;
}

void MetalogImpl::Lead(Member& self) {
  ZENFS_ASSERT(!leading_ && !fenced_ && tail_is_clean_);
  leading_ = true;
  Gather();
  Batch batch = TakeBatch();
  const Status next = current_->CheckNextCommit(batch.first_sequence, batch.first_sequence);
  if (!next.ok()) return EndForGood(batch, next.error());
  if (batch.members.empty()) {
    ReleaseLead();
    WaitForRoom(self);
    return;
  }
  const SteadyTime begin = SteadyNow();
  mutex_.Unlock();
  const Status flushed = batch.flush_data_first ? FlushDevice(device_) : Status{};
  mutex_.Lock();
  if (flushed.ok()) RefuseLost(batch);
  if (flushed.ok() && batch.members.empty()) return ReleaseLead();
  mutex_.Unlock();
  const Status written = flushed.ok() ? WriteBatch(batch) : Status{};
  mutex_.Lock();
  last_write_time_ = SteadyNow() - begin;
  last_batch_members_ = batch.members.size();
  if (!flushed.ok()) {  // nothing was written, so the outcome is known
    Refuse(batch, flushed.error());
    ReleaseLead();
  } else if (written.ok()) {
    Publish(batch);
    if (!switch_running_ && current_->room() < switch_at_room_) {
      IgnoreError(StartSwitch(0));  // retried after the next commit; a commit without room starts one itself
    }
    ReleaseLead();
  } else {
    Fence(batch, written.error());
  }
}

// Waits briefly for the threads of the last batch: they are likely to commit again soon. If the leader wrote alone, all
// of them would have to wait for another write.
void MetalogImpl::Gather() {
  const std::size_t expected = last_batch_members_ - last_batch_members_ / 4;
  if (queue_.size() >= expected) return;
  const auto span = std::min<std::chrono::nanoseconds>(last_write_time_ / kGatherFraction, kMaxGather);
  const Deadline deadline = Deadline::After(span);
  while (queue_.size() < expected && !switch_wants_lead_) {
    if (!gathered_.WaitUntil(mutex_, deadline)) return;
  }
}

MetalogImpl::Batch MetalogImpl::TakeBatch() {
  Batch batch{.members = {}, .first_sequence = stats_.sequence + 1};
  // The last block stays free for the SwitchBegin frame.
  const std::uint64_t limit = std::min(kMaxBatchBytes, current_->PayloadRoom(layout_.block_size));
  const std::uint64_t room = current_->PayloadRoom(layout_.block_size);
  std::uint64_t bytes = kMaxCountBytes;
  while (!queue_.empty()) {
    Member* next = queue_.front();
    bytes += next->encoded.size();
    if (bytes > (batch.members.empty() ? room : limit)) break;
    batch.flush_data_first |= next->data_since.has_value();
    batch.members.push_back(next);
    queue_.pop_front();
  }
  return batch;
}

Status MetalogImpl::WriteBatch(const Batch& batch) {
  SyncPoint::Reach("metalog:write");
  std::vector<const std::string*> lists;
  for (const Member* member : batch.members) lists.push_back(&member->encoded);
  GenerationWriter* writer = nullptr;
  {
    MutexLock lock(mutex_);
    writer = current_.get();  // does not change while this thread leads
  }
  const FlushMark mark = FlushMark::Now(device_);
  const std::string payload = EncodeCommit(lists);
  const Deadline deadline = Deadline::After(kSlotWait);
  for (;;) {
    const Status written =
        writer->Write(FrameKind::kCommit, payload, batch.first_sequence, batch.last_sequence());
    if (written.ok()) return FlushWrittenSince(device_, mark);
    // kBusy: nothing was written, and the zone is unchanged.
    if (written.error().code() != Code::kBusy || deadline.Passed()) return written;
    SleepUntil(std::min(deadline.when(), SteadyNow() + kBusyPause));
  }
}

// The batch is durable. Applies it to the replica, passes it to the sink, both in log order, and wakes the callers.
void MetalogImpl::Publish(Batch& batch) {
  ZENFS_ASSERT(leading_ && !fenced_ && batch.first_sequence == stats_.sequence + 1);
  stats_.sequence = batch.last_sequence();
  stats_.commits += batch.members.size();
  ++stats_.frames_written;
  CountWritten();
  for (Member* member : batch.members) {
    if (frozen_) {
      pending_.push_back({member->edits, std::move(member->encoded), member->growth});
    } else {
      ApplyToReplica(*member->edits, member->growth);
    }
  }
  if (CommitSink* sink = sink_; sink != nullptr) {
    mutex_.Unlock();
    for (const Member* member : batch.members) sink->OnCommitted(*member->edits);
    mutex_.Lock();
  }
  for (Member* member : batch.members) Complete(*member, health_);  // an error only after a bug
}

void MetalogImpl::ApplyToReplica(const std::vector<Edit>& edits, std::uint64_t growth) {
  ZENFS_ASSERT(!frozen_ && unapplied_growth_ >= growth);
  Effects effects;
  unapplied_growth_ -= growth;
  if (Status done = state_.Apply(edits, &effects); !done.ok()) {
    GoReadOnly(
        done.error().With(device_.name() + ": a commit contradicts the metadata log's own state (a bug)"));
    return;
  }
  footprint_.Apply(edits, effects, state_);
}

// The outcome of the batch's write is unknown. Nothing more is written to this generation. Once a log switch has completed
// a newer generation without the batch, the batch is known not to be committed. The callers wait for that.
void MetalogImpl::Fence(Batch& batch, const Error& error) {
  fenced_ = true;
  ReleaseLead();
  SyncPoint::Reach("metalog:fenced");  // with the lock held
  const Status switched = SwitchAndWait(0);
  // health_ may have changed before this thread woke. Then the queue was emptied and must stay empty.
  if (switched.ok() && health_.ok() && NeedsAnotherZone(error.code()) &&
      batch.members.front()->tries < kMaxTries) {
    for (auto member = batch.members.rbegin(); member != batch.members.rend(); ++member) {
      ++(*member)->tries;
      queue_.push_front(*member);
    }
    WakeNext();
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
  WakeNext();
}

// The log contradicts itself. The batch was not written.
void MetalogImpl::EndForGood(Batch& batch, const Error& error) {
  GoReadOnly(error.With(device_.name() + ": the volume is read-only from now on"));
  Refuse(batch, health_.error());
  ReleaseLead();
}

void MetalogImpl::Refuse(Batch& batch, const Error& error) {
  for (Member* member : batch.members) {
    ZENFS_ASSERT(!member->done && unapplied_growth_ >= member->growth);
    unapplied_growth_ -= member->growth;
    Complete(*member, Fail(error));
  }
}

// Refuses the members whose data a failed flush may have lost. A later successful flush does not prove that the data is
// durable.
void MetalogImpl::RefuseLost(Batch& batch) {
  std::erase_if(batch.members, [&](Member* member) {
    mutex_.AssertHeld();
    if (!member->data_since || !member->data_since->FlushFailedSince(device_)) return false;
    unapplied_growth_ -= member->growth;
    Complete(*member, Fail(Code::kIo, fmt::format("{}: a commit of new bytes was refused: {}", device_.name(),
                                                  kLostToAFlush)));
    return true;
  });
}

// The commit at the head of the queue does not fit the current zone. Runs a log switch.
void MetalogImpl::WaitForRoom(Member& self) {
  const Status switched = SwitchAndWait(kFrameHeaderBytes + kMaxCountBytes + self.encoded.size());
  if (switched.ok() || self.done) return;
  // Nothing was written, so only this commit fails. Smaller ones may still fit.
  std::erase(queue_, &self);
  unapplied_growth_ -= self.growth;
  const Error& why = switched.error();
  Complete(self, Fail(why.With(device_.name() + ": no room in the metadata log").As(Told(why.code()))));
  WakeNext();
}

void MetalogImpl::Complete(Member& member, Status result) {
  member.result = std::move(result);
  member.done = true;
  member.wake.NotifyOne();
}

void MetalogImpl::ReleaseLead() {
  ZENFS_ASSERT(leading_);
  leading_ = false;
  WakeNext();
}

void MetalogImpl::WakeNext() {
  if (switch_wants_lead_) lead_released_.NotifyAll();
  if (!queue_.empty()) queue_.front()->wake.NotifyOne();
}

void MetalogImpl::GoReadOnly(const Error& why) {
  if (health_.ok())
    health_ = Fail(why.code() == Code::kCorruption ? why : Error(Code::kReadOnly, why.text()));
  while (!queue_.empty()) {
    Member* member = queue_.front();
    queue_.pop_front();
    unapplied_growth_ -= member->growth;
    Complete(*member, health_);
  }
}

}  // namespace zenfs
