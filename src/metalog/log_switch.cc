// Switching: the log moves to a new generation in other zones while commits go on in the old one.
//
//   1 reset the zones that no complete generation needs any more; say in the old zone that a log switch begins
//   2 superblock and header, flush; the snapshot of state_ as of commit S, which is frozen meanwhile
//   3 the commits after S, in rounds, the last one with the lead held so that none is added
//   4 flush, SwitchComplete, flush: only now the new generation is the current one
//
// A failure before the SwitchComplete leaves the old generation as it was. A failure at the SwitchComplete leaves
// unknown which of the two a mount would find; the log is fenced then and tries again with a higher
// generation.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "base/random.h"
#include "base/sync_point.h"
#include "format/metalog_payload.h"
#include "metalog/flush.h"
#include "metalog/metalog_impl.h"
#include "metalog/state_snapshot.h"

namespace zenfs {
namespace {

constexpr int kRoundsBeforeLead = 3;
constexpr std::uint64_t kCatchUpBytes = 256 << 10;
constexpr std::size_t kListCountBytes = 10;

}  // namespace

// The state of one log switch over its attempts; the log switch thread's own.
struct MetalogImpl::SwitchRun {
  const State* frozen = nullptr;      // state_, which nobody changes while frozen_
  std::uint64_t base_sequence = 0;    // of the last commit in it
  std::vector<ZoneId> current_chain;  // of the old generation
  ZoneId current_zone;
  std::uint64_t need = 0;  // bytes that must be free behind the SwitchComplete
  bool holds_lead = false;
  bool announced = false;  // the old zone says that a log switch begins
  // Of an attempt whose SwitchComplete a mount may find or not: its zones, as long as that stands.
  std::vector<ZoneId> in_doubt;
  Footprint footprint;  // of the frozen state, measured anew
  std::unique_ptr<GenerationWriter> writer;
  FlushMark written_since = FlushMark::AtOpen();  // when this attempt began to write
  std::size_t caught_up = 0;                      // commits of pending_ that are written
  std::uint64_t bytes_written = 0;                // by attempts that failed
};

// Nothing is changed if the thread can't be started.
Status MetalogImpl::StartSwitch(std::uint64_t need) {
  // The thread waits for mutex_. The body of an earlier log switch ended when it gave up switch_running_, so joining it does not
  // block.
  ZENFS_ASSIGN_OR_RETURN(switch_thread_, Thread::Start("zenfs-switch", [this] { RunSwitch(); }));
  NoteSwitchRunning(need);
  return {};
}

void MetalogImpl::NoteSwitchRunning(std::uint64_t need) {
  switch_running_ = true;
  switch_need_ = need;
  switch_result_ = std::make_shared<std::optional<Status>>();
}

// Waits for the running log switch, or starts one, and returns its own outcome, not that of a later one. If the
// host refuses a thread, the switch runs in the calling thread, which must not lead then.
Status MetalogImpl::SwitchAndWait(std::uint64_t need) {
  if (!switch_running_ && !StartSwitch(need).ok()) {
    NoteSwitchRunning(need);
    const std::shared_ptr<std::optional<Status>> result = switch_result_;
    mutex_.Unlock();
    RunSwitch();
    mutex_.Lock();
    return **result;
  }
  const std::shared_ptr<std::optional<Status>> result = switch_result_;
  while (!result->has_value()) switch_ended_.Wait(mutex_);
  return **result;
}

Status MetalogImpl::Switch() noexcept {
  MutexLock lock(mutex_);
  if (!health_.ok()) return health_;
  if (current_ == nullptr)
    return Fail(Code::kReadOnly, device_.name() + ": the metadata log was opened read-only");
  while (switch_running_) switch_ended_.Wait(mutex_);
  if (stopping_) return Fail(Code::kShutdown, device_.name() + ": the metadata log was stopped");
  return SwitchAndWait(0);
}

void MetalogImpl::RunSwitch() {
  SwitchRun run;
  std::optional<Meter> meter;
  {
    MutexLock lock(mutex_);
    if (metrics_ != nullptr) meter.emplace(*metrics_, Operation::kLogSwitch);
    ZENFS_ASSERT(switch_running_ && !frozen_ && pending_.empty());
    frozen_ = true;
    run.frozen = &state_;
    run.base_sequence = stats_.sequence;
    run.current_chain = current_->chain();
    run.current_zone = current_->zone();
    run.need = std::max(space().MinRoom(), switch_need_ + 2 * layout_.block_size);
  }
  run.footprint = Footprint(*run.frozen);
  Status result;
  for (std::size_t attempt = 0; attempt <= zones_.zones().size(); ++attempt) {
    result = TrySwitch(run);
    if (result.ok() || result.error().code() == Code::kNoSpace || !health().ok()) break;
    if (run.writer != nullptr) run.bytes_written += run.writer->bytes_written();
    if (result.error().code() == Code::kBusy) FreeSlot(run);
  }
  if (result.ok()) zones_.FinishSuperseded(run.writer->chain(), spare_slots_);
  if (meter) result = meter->Done(std::move(result));
  meter.reset();  // once the log switch is finished the metrics may go away
  FinishSwitch(run, result);
}

Status MetalogImpl::TrySwitch(SwitchRun& run) {
  std::vector<ZoneId> keep = run.current_chain;
  // Taken apart zone by zone such a generation would be one that was complete and is damaged: its SwitchComplete goes first,
  // durably, or all of it stays.
  if (!run.in_doubt.empty() && zones_.EmptyFirst(run.in_doubt.back(), keep)) run.in_doubt.clear();
  keep.insert(keep.end(), run.in_doubt.begin(), run.in_doubt.end());
  zones_.ResetAllBut(keep);
  // Nothing is announced that can't begin: with an offline zone the next mount would have to believe it.
  if (!zones_.HasOther(keep)) {
    return Fail(Code::kNoSpace, "no metadata zone is left to write to (none of the others can be emptied)");
  }
  ZENFS_RETURN_IF_ERROR(BeginSwitchInOldZone(run));
  GenerationWriter::Start start{.salt = RandomSeed(),
                                .base_sequence = run.base_sequence,
                                .keep = std::move(keep),
                                .after = run.current_zone};
  {
    MutexLock lock(mutex_);
    start.generation = ++last_generation_;
  }
  run.caught_up = 0;
  run.written_since = FlushMark::Now(device_);
  run.writer = std::make_unique<GenerationWriter>(device_, superblock_, zones_, std::move(start));
  ZENFS_RETURN_IF_ERROR(run.writer->BeginZone());
  ZENFS_RETURN_IF_ERROR(WriteSnapshot(*run.writer, *run.frozen, run.base_sequence));
  SyncPoint::Reach("metalog:snapshot-written");
  ZENFS_RETURN_IF_ERROR(CatchUp(run));
  return CompleteGeneration(run);
}

// Until a log switch begins, an offline zone elsewhere cannot hold anything newer; this record is what tells a
// mount that from here on it can. A fenced zone is not written any more, and then a mount has to do without.
Status MetalogImpl::BeginSwitchInOldZone(SwitchRun& run) {
  if (run.announced) return {};
  TakeLead(run);
  GenerationWriter* writer = nullptr;
  std::uint64_t sequence = 0;
  {
    MutexLock lock(mutex_);
    if (!fenced_ && tail_is_clean_) writer = current_.get();
    sequence = stats_.sequence;
  }
  const FlushMark mark = FlushMark::Now(device_);
  Status written;
  if (writer != nullptr && writer->room() > 0)
    written = writer->Write(FrameKind::kSwitchBegin, {}, sequence, sequence);
  // Durable before the next frame, as every frame is: a mount takes a gap before a valid frame for damage.
  if (written.ok() && writer != nullptr) written = FlushWrittenSince(device_, mark);
  run.announced = true;
  MutexLock lock(mutex_);
  if (!written.ok()) fenced_ = true;  // nothing is lost, but where the zone ends is unknown
  run.holds_lead = false;
  ReleaseLead();
  return {};
}

// No slot for a second active zone. A fenced zone is not finished as long as there is another way; finishing
// keeps it readable.
void MetalogImpl::FreeSlot(SwitchRun& run) {
  TakeLead(run);
  GenerationWriter* writer = nullptr;
  {
    MutexLock lock(mutex_);
    writer = current_.get();
  }
  if (device_.Finish(run.current_zone).ok()) writer->EndZone();
}

Status MetalogImpl::CatchUp(SwitchRun& run) {
  for (int round = 0; round < kRoundsBeforeLead && !run.holds_lead; ++round) {
    const std::size_t before = run.caught_up;
    ZENFS_RETURN_IF_ERROR(WritePending(run));
    if (run.caught_up == before) break;
  }
  SyncPoint::Reach("metalog:caught-up");
  TakeLead(run);
  return WritePending(run);
}

// Writes the commits that pending_ has beyond those written, with the sequences they were committed under.
Status MetalogImpl::WritePending(SwitchRun& run) {
  for (;;) {
    std::vector<std::string> lists;
    std::uint64_t bytes = kListCountBytes;
    {
      MutexLock lock(mutex_);
      for (std::size_t i = run.caught_up; i < pending_.size() && bytes < kCatchUpBytes; ++i) {
        if (!lists.empty() && bytes + pending_[i].encoded.size() > run.writer->PayloadRoom(0)) break;
        bytes += pending_[i].encoded.size();
        lists.push_back(pending_[i].encoded);
      }
    }
    if (lists.empty()) return {};
    if (bytes > run.writer->PayloadRoom(0)) ZENFS_RETURN_IF_ERROR(run.writer->BeginZone());
    std::vector<const std::string*> members;
    for (const std::string& list : lists) members.push_back(&list);
    const std::uint64_t first = run.base_sequence + run.caught_up + 1;
    if (Status next = run.writer->CheckNextCommit(first, first + members.size() - 1); !next.ok()) {
      MutexLock lock(mutex_);
      GoReadOnly(next.error().With(device_.name() + ": the volume is read-only from here on"));
      return next;
    }
    ZENFS_RETURN_IF_ERROR(
        run.writer->Write(FrameKind::kCommit, EncodeCommit(members), first, first + members.size() - 1));
    run.caught_up += members.size();
  }
}

Status MetalogImpl::CompleteGeneration(SwitchRun& run) {
  GenerationWriter& writer = *run.writer;
  if (writer.room() < layout_.block_size + run.need) {
    ZENFS_RETURN_IF_ERROR(writer.BeginZone());
    if (writer.room() < layout_.block_size + run.need) {
      return Fail(Code::kNoSpace,
                  fmt::format("{} bytes do not fit metadata zone {}", run.need, writer.zone().value));
    }
  }
  ZENFS_RETURN_IF_ERROR(FlushWrittenSince(device_, run.written_since));
  SyncPoint::Reach("metalog:before-complete");
  const std::uint64_t sequence = run.base_sequence + run.caught_up;
  const SwitchComplete complete{.salt = writer.salt(),
                                .frames = writer.frames(),
                                .sequence = sequence,
                                .chain_index = writer.chain_index()};
  Status done = writer.Write(FrameKind::kSwitchComplete, EncodeSwitchComplete(complete), sequence, sequence);
  if (done.ok()) done = FlushWrittenSince(device_, run.written_since);
  if (done.ok()) return {};
  // A mount may find this generation complete or not: the old one must not be written any more.
  zones_.Distrust(writer.zone(), Metazones::Trust::kBad);
  run.in_doubt = writer.chain();
  MutexLock lock(mutex_);
  fenced_ = true;
  return done;
}

void MetalogImpl::TakeLead(SwitchRun& run) {
  if (run.holds_lead) return;
  MutexLock lock(mutex_);
  switch_wants_lead_ = true;
  gathered_.NotifyAll();
  while (leading_) lead_released_.Wait(mutex_);
  ZENFS_ASSERT(switch_running_);
  switch_wants_lead_ = false;
  leading_ = true;
  run.holds_lead = true;
}

void MetalogImpl::Thaw() {
  ZENFS_ASSERT(frozen_);
  frozen_ = false;
  for (const Pending& commit : pending_) {
    if (!health_.ok()) break;
    ApplyToReplica(*commit.edits, commit.growth);
  }
  pending_.clear();
}

void MetalogImpl::FinishSwitch(SwitchRun& run, const Status& result) {
  std::unique_ptr<GenerationWriter> old;  // destroyed without the lock
  MutexLock lock(mutex_);
  stats_.bytes_written += run.bytes_written;
  if (result.ok()) {
    ZENFS_ASSERT(run.holds_lead && run.writer->generation() > current_->generation());
    ZENFS_ASSERT(run.base_sequence + run.caught_up == stats_.sequence);
    old = std::exchange(current_, std::move(run.writer));
    stats_.bytes_written += old->bytes_written();
    ++stats_.switches;
    stats_.generation = current_->generation();
    CountWritten();
    smallest_zone_ = std::min(smallest_zone_, current_->zone_capacity() - layout_.frames_at);
    // Half of what is left may be used before the next log switch, lest a large snapshot makes it switch all the
    // time.
    switch_at_room_ = std::min(space().SwitchReserve(), current_->room() / 2);
    footprint_ = std::move(run.footprint);
    tail_is_clean_ = true;
    fenced_ = false;
  } else {
    switch_at_room_ /= 2;
  }
  Thaw();
  if (!result.ok() && (fenced_ || !tail_is_clean_)) {
    GoReadOnly(
        result.error().With(device_.name() +
                            ": the volume is read-only from here on, because the metadata log has no zone "
                            "left to move to; what is there can be read: unmount, see to the device, and "
                            "mount again"));
  }
  switch_running_ = false;
  *switch_result_ = result;
  switch_ended_.NotifyAll();
  if (run.holds_lead) leading_ = false;
  WakeNext();
}

MetalogSpace MetalogImpl::space() const {
  return {.zone_bytes = smallest_zone_, .zones = zones_.usable(), .block_size = layout_.block_size};
}

}  // namespace zenfs
