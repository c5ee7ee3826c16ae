// Log switch: the log moves to a new generation in other zones. Commits continue in the old generation meanwhile.
//
//   1 reset the zones that no complete generation needs; write SwitchBegin to the old zone
//   2 write superblock and header, flush; write the snapshot of state_, frozen as of commit S
//   3 copy the commits after S, in rounds; new commits wait during the last round
//   4 flush, write SwitchComplete, flush; now the new generation is the current one
//
// If a switch fails before its SwitchComplete, the old generation stays current. If the SwitchComplete fails, it is
// unknown which generation a mount would find: the log is fenced and tries again with a higher generation.
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

// State of one log switch across its attempts. Used by the switching thread only.
struct MetalogImpl::SwitchRun {
  const State* frozen = nullptr;      // state_, constant while frozen_ is set
  std::uint64_t base_sequence = 0;    // of the last commit in `frozen`
  std::vector<ZoneId> current_chain;  // of the old generation
  ZoneId current_zone;
  std::uint64_t need = 0;  // bytes that must stay free after the SwitchComplete
  bool holds_lead = false;
  bool announced = false;  // the SwitchBegin was written or tried
  // Zones of an attempt whose SwitchComplete has an unknown outcome, until that SwitchComplete is durably reset.
  std::vector<ZoneId> in_doubt;
  Footprint footprint;  // of the frozen state
  std::unique_ptr<GenerationWriter> writer;
  FlushMark written_since = FlushMark::AtOpen();  // when this attempt began to write
  std::size_t caught_up = 0;                      // commits of pending_ written to the new generation
  std::uint64_t bytes_written = 0;                // by failed attempts
};

// If the thread cannot be started, nothing changes.
Status MetalogImpl::StartSwitch(std::uint64_t need) {
  // The new thread waits for mutex_. The assignment joins the thread of the last log switch. That thread finished its
  // work when it cleared switch_running_, so the join does not block.
  ZENFS_ASSIGN_OR_RETURN(switch_thread_, Thread::Start("zenfs-switch", [this] { RunSwitch(); }));
  NoteSwitchRunning(need);
  return {};
}

void MetalogImpl::NoteSwitchRunning(std::uint64_t need) {
  switch_running_ = true;
  switch_need_ = need;
  switch_result_ = std::make_shared<std::optional<Status>>();
}

// Waits for the running log switch, or starts one, and returns the outcome of that switch, not of a later one. If the
// host cannot start a thread, the switch runs in the calling thread. The caller must not lead.
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
  meter.reset();  // the metrics may be destroyed once the log switch is finished
  FinishSwitch(run, result);
}

Status MetalogImpl::TrySwitch(SwitchRun& run) {
  std::vector<ZoneId> keep = run.current_chain;
  // If a generation in doubt lost some zones but kept its SwitchComplete, a mount would take it for a damaged complete
  // one. So reset the zone of its SwitchComplete first, durably, or keep all of its zones.
  if (!run.in_doubt.empty() && zones_.EmptyFirst(run.in_doubt.back(), keep)) run.in_doubt.clear();
  keep.insert(keep.end(), run.in_doubt.begin(), run.in_doubt.end());
  zones_.ResetAllBut(keep);
  // Write no SwitchBegin if no zone is left for the switch: after it, a mount must assume that an offline zone holds newer
  // commits.
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

// Writes SwitchBegin to the old zone. It tells a mount that other zones may hold newer commits; without it, an offline
// zone cannot. A fenced zone is not written, so a mount then has to do without SwitchBegin.
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
  // Like every frame it is durable before the next one: to a mount, a gap before a valid frame is damage.
  if (written.ok() && writer != nullptr) written = FlushWrittenSince(device_, mark);
  run.announced = true;
  MutexLock lock(mutex_);
  if (!written.ok()) fenced_ = true;  // no commit is lost, but the end of the log is unknown
  run.holds_lead = false;
  ReleaseLead();
  return {};
}

// Called if the device has no slot for a second active zone. Finishes the current zone, which stays readable.
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

// Copies the commits of pending_ that are not copied yet, with the same sequences.
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
      GoReadOnly(next.error().With(device_.name() + ": the volume is read-only from now on"));
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
  // A mount may find this generation complete, so nothing more may be written to the old one.
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
    // At least half of the remaining room is used before the next log switch. Otherwise a large snapshot would cause a
    // switch after every few commits.
    switch_at_room_ = std::min(space().SwitchReserve(), current_->room() / 2);
    footprint_ = std::move(run.footprint);
    tail_is_clean_ = true;
    fenced_ = false;
  } else {
    switch_at_room_ /= 2;
  }
  Thaw();
  if (!result.ok() && (fenced_ || !tail_is_clean_)) {
    GoReadOnly(result.error().With(
        device_.name() +
        ": the volume is read-only from now on, because the metadata log has no usable "
        "zone left; existing data can be read: unmount, check the device, and mount again"));
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
