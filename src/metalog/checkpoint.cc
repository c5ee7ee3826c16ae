#include "metalog/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/caught.h"
#include "base/random.h"
#include "base/sync_point.h"
#include "device/flush_mark.h"
#include "format/metalog_payload.h"
#include "metalog/metalog.h"

namespace zenfs {
namespace {

constexpr int kRoundsBeforeLead = 3;
constexpr std::uint64_t kCatchUpBytes = 256 << 10;

}  // namespace

// --- the log switch as the other threads see it ---

Status LogSwitch::Start(std::uint64_t need) {
  ZENFS_ASSERT(!running_);
  // The new thread waits for the lock. The assignment joins the thread of the last log switch. That thread finished its
  // work when it called End, so the join does not block.
  ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-switch", run_));
  NoteRunning(need);
  return {};
}

void LogSwitch::NoteRunning(std::uint64_t need) {
  running_ = true;
  need_ = need;
  result_ = std::make_shared<std::optional<Status>>();
}

Status LogSwitch::StartAndWait(Mutex& mutex, std::uint64_t need) {
  if (!running_ && !Start(need).ok()) {
    NoteRunning(need);
    const std::shared_ptr<std::optional<Status>> result = result_;
    mutex.Unlock();
    run_();
    mutex.Lock();
    return **result;
  }
  const std::shared_ptr<std::optional<Status>> result = result_;
  while (!result->has_value()) ended_.Wait(mutex);
  return **result;
}

void LogSwitch::AwaitEnd(Mutex& mutex) {
  while (running_) ended_.Wait(mutex);
}

void LogSwitch::End(const Status& result) {
  ZENFS_ASSERT(running_);
  running_ = false;
  *result_ = result;
  ended_.NotifyAll();
}

Status Metalog::Switch() noexcept {
  MutexLock lock(mutex_);
  if (!health_.ok()) return health_;
  if (!current_.has_writer())
    return Fail(Code::kReadOnly, device_.name() + ": the metadata log was opened read-only");
  log_switch_.AwaitEnd(mutex_);
  if (stopping_) return Fail(Code::kShutdown, device_.name() + ": the metadata log was stopped");
  return log_switch_.StartAndWait(mutex_, 0);
}

void Metalog::AwaitSwitch() {
  MutexLock lock(mutex_);
  log_switch_.AwaitEnd(mutex_);
}

// --- one run ---

// The new generation has as many copies as the log wants (Metalog::wanted_copies_), or one if too few zones are good. An attempt
// that fails is repeated with other zones and a higher generation. If a switch fails before its
// SwitchComplete, the old generation stays current. If the SwitchComplete fails, it is unknown which generation a mount
// would find: the log is fenced.
//
// Invariants
//   base_sequence_ + caught_up_ <= the last commit; equal while this thread leads in the last round, until the end
//   the zones of the current generation, and of an attempt in doubt, are not reset
//
// Threads: one, the one that has the role of the switch (metalog.h). The lock of the log is not held during I/O.
class Metalog::Checkpoint {
 public:
  explicit Checkpoint(Metalog& log) : log_(log) {}

  // Precondition: a log switch is running. Calls LogSwitch::End. If memory runs out the process ends: other threads would
  // wait for the switch.
  void Run() noexcept EXCLUDES(log_.mutex_);

 private:
  [[nodiscard]] Status Begin() EXCLUDES(log_.mutex_);
  void RetireZones() EXCLUDES(log_.mutex_);
  void FreeSupersededZones() EXCLUDES(log_.mutex_);
  Status Try() EXCLUDES(log_.mutex_);
  Status BeginInOldZone() EXCLUDES(log_.mutex_);
  void FreeSlot() EXCLUDES(log_.mutex_);
  Status CatchUp() EXCLUDES(log_.mutex_);
  Status WritePending() EXCLUDES(log_.mutex_);
  Status CompleteGeneration() EXCLUDES(log_.mutex_);
  void TakeLead() EXCLUDES(log_.mutex_);
  void Finish(const Status& result) EXCLUDES(log_.mutex_);
  std::unique_ptr<GenerationWriter> MoveLog() REQUIRES(log_.mutex_);

  Metalog& log_;
  const State* frozen_ = nullptr;      // of the replica
  std::uint64_t base_sequence_ = 0;    // of the last commit in `frozen_`
  std::vector<ZoneId> current_chain_;  // of the old generation
  ZoneId current_zone_;
  bool completes_copy_ = false;  // the switch runs because the current generation lacks a copy
  std::uint64_t need_ = 0;       // bytes that must stay free after the SwitchComplete
  bool leads_ = false;
  std::uint32_t copies_ = 1;     // of the generation that this attempt writes
  std::uint32_t announced_ = 0;  // copies in the last SwitchBegin that was written or tried; 0: none
  // Zones of an attempt whose SwitchComplete has an unknown outcome, until that SwitchComplete is durably reset, and those of
  // them that hold it.
  std::vector<ZoneId> in_doubt_;
  std::vector<ZoneId> in_doubt_tail_;
  Footprint footprint_;  // of the frozen state
  std::unique_ptr<GenerationWriter> writer_;
  FlushMark written_since_ = FlushMark::AtOpen();  // when this attempt began to write
  std::size_t caught_up_ = 0;                      // pending commits written to the new generation
  std::uint64_t bytes_written_ = 0;                // by failed attempts
};

void Metalog::RunCheckpoint() { Checkpoint(*this).Run(); }

void Metalog::Checkpoint::Run() noexcept {
  std::optional<Meter> meter;
  {
    MutexLock lock(log_.mutex_);
    if (log_.metrics_ != nullptr) meter.emplace(*log_.metrics_, Operation::kLogSwitch);
  }
  Status result = Begin();
  const bool begun = result.ok();
  for (std::size_t attempt = 0; begun && attempt <= log_.zones_.size(); ++attempt) {
    result = Try();
    if (result.ok() || !log_.health().ok()) break;
    if (result.error().code() == Code::kNoSpace && copies_ == 1) break;
    if (writer_ != nullptr) bytes_written_ += writer_->bytes_written();
    writer_.reset();
    if (result.error().code() == Code::kNoSpace) copies_ = 1;
    if (result.error().code() == Code::kBusy) FreeSlot();
  }
  if (result.ok()) log_.zones_.FinishSuperseded(writer_->chain(), log_.spare_slots_);
  if (meter) result = meter->Done(std::move(result));
  meter.reset();  // the metrics may be destroyed once the log switch is finished
  Finish(result);
}

Status Metalog::Checkpoint::Begin() {
  {
    MutexLock lock(log_.mutex_);
    ZENFS_ASSERT(log_.log_switch_.running());
    frozen_ = &log_.replica_.Freeze();
    base_sequence_ = log_.stats_.sequence;
    current_chain_ = log_.current_.writer().chain();
    current_zone_ = log_.current_.writer().zone();
    completes_copy_ = log_.current_.lacks_copy();
    copies_ = log_.wanted_copies_;
    need_ = std::max(log_.space().MinRoom(),
                     log_.log_switch_.need() + (1 + log_.wanted_copies_) * log_.layout_.block_size);
  }
  // It takes memory for each file. Without it the old generation goes on, and a mount that needs the switch fails.
  ZENFS_RETURN_IF_ERROR(Caught([this]() -> Status {
    footprint_ = Footprint(*frozen_);
    return {};
  }));
  RetireZones();
  return {};
}

// Retires zones that the snapshot needs no more, even if it doubles.
void Metalog::Checkpoint::RetireZones() {
  MutexLock lock(log_.mutex_);
  MetalogSpace space = log_.space();
  const std::size_t count = space.ZonesOfPlace();
  if (log_.zones_.HasFresh() || log_.zones_.named().size() < count) return;
  space.zones -= static_cast<std::uint32_t>(count);
  if (space.SnapshotLimit(Growth::kGrows) / 4 < log_.replica_.used_bytes()) return;
  log_.zones_.Retire(count);
}

void Metalog::Checkpoint::FreeSupersededZones() {
  const std::vector<ZoneId> freed = log_.zones_.FreeSuperseded();
  if (freed.empty()) return;
  MutexLock lock(log_.mutex_);
  log_.freed_zones_.insert(log_.freed_zones_.end(), freed.begin(), freed.end());
  log_.has_freed_zones_.store(true);
}

Status Metalog::Checkpoint::Try() {
  std::vector<ZoneId> keep = current_chain_;
  // If a generation in doubt lost some zones but kept its SwitchComplete, a mount would take it for a damaged complete
  // one. So reset the zones of its SwitchComplete first, durably, or keep all of its zones.
  std::erase_if(in_doubt_tail_, [&](ZoneId zone) { return log_.zones_.EmptyFirst(zone, keep); });
  if (in_doubt_tail_.empty()) in_doubt_.clear();
  keep.insert(keep.end(), in_doubt_.begin(), in_doubt_.end());
  log_.zones_.ResetAllBut(keep);
  FreeSupersededZones();
  // Write no SwitchBegin if no zone is left for the switch: after it, a mount must assume that an offline zone holds newer
  // commits.
  const std::uint32_t others = log_.zones_.Others(keep);
  copies_ = std::min(copies_, std::max(others, 1u));
  if (others == 0) {
    return Fail(log_.zones_.NoneLeft("none of the others can be emptied"));
  }
  ZENFS_RETURN_IF_ERROR(BeginInOldZone());
  GenerationWriter::Start start{.salt = RandomSeed(),
                                .base_sequence = base_sequence_,
                                .keep = std::move(keep),
                                .after = current_zone_,
                                .copies = copies_};
  {
    MutexLock lock(log_.mutex_);
    start.generation = log_.current_.TakeNumber();
  }
  caught_up_ = 0;
  written_since_ = FlushMark::Now(log_.device_);
  writer_ = std::make_unique<GenerationWriter>(log_.device_, log_.superblock_, log_.zones_, std::move(start));
  ZENFS_RETURN_IF_ERROR(writer_->BeginZone());
  ZENFS_RETURN_IF_ERROR(writer_->WriteSnapshot(*frozen_));
  SyncPoint::Reach("Metalog::Checkpoint::Try:snapshot-written");
  ZENFS_RETURN_IF_ERROR(CatchUp());
  return CompleteGeneration();
}

// Writes SwitchBegin to the old zone. It tells a mount that other zones may hold newer commits; without it, an offline
// zone cannot. A fenced zone is not written, so a mount then has to do without SwitchBegin.
Status Metalog::Checkpoint::BeginInOldZone() {
  if (announced_ != 0 && announced_ <= copies_) return {};
  TakeLead();
  GenerationWriter* writer = nullptr;
  std::uint64_t sequence = 0;
  {
    MutexLock lock(log_.mutex_);
    if (log_.current_.clean()) writer = &log_.current_.writer();
    sequence = log_.stats_.sequence;
  }
  const FlushMark mark = FlushMark::Now(log_.device_);
  Status written;
  if (writer != nullptr && writer->room() > 0)
    written = writer->Write(FrameKind::kSwitchBegin, EncodeSwitchBegin(copies_), sequence, sequence);
  // Like every frame it is durable before the next one: to a mount, a gap before a valid frame is damage.
  if (written.ok() && writer != nullptr) written = FlushWrittenSince(log_.device_, mark);
  announced_ = copies_;
  MutexLock lock(log_.mutex_);
  if (!written.ok()) log_.current_.Fence();  // no commit is lost, but the end of the log is unknown
  leads_ = false;
  log_.queue_.EndLead();
  return {};
}

// Called if the device has no slot for the next active zone. Finishes the current one, which stays readable.
void Metalog::Checkpoint::FreeSlot() {
  TakeLead();
  GenerationWriter* writer = nullptr;
  {
    MutexLock lock(log_.mutex_);
    writer = &log_.current_.writer();
  }
  IgnoreError(writer->CloseZone());
}

Status Metalog::Checkpoint::CatchUp() {
  for (int round = 0; round < kRoundsBeforeLead && !leads_; ++round) {
    const std::size_t before = caught_up_;
    ZENFS_RETURN_IF_ERROR(WritePending());
    if (caught_up_ == before) break;
  }
  SyncPoint::Reach("Metalog::Checkpoint::CatchUp:caught-up");
  TakeLead();
  return WritePending();
}

// Copies the pending commits that are not copied yet, with the same sequences.
Status Metalog::Checkpoint::WritePending() {
  for (;;) {
    std::vector<std::string> lists;
    std::uint64_t bytes = kMaxCountBytes;
    {
      MutexLock lock(log_.mutex_);
      const std::deque<Replica::Pending>& pending = log_.replica_.pending();
      for (std::size_t i = caught_up_; i < pending.size() && bytes < kCatchUpBytes; ++i) {
        if (!lists.empty() && bytes + pending[i].encoded.size() > writer_->PayloadRoom(0)) break;
        bytes += pending[i].encoded.size();
        lists.push_back(pending[i].encoded);
      }
    }
    if (lists.empty()) return {};
    if (bytes > writer_->PayloadRoom(0)) ZENFS_RETURN_IF_ERROR(writer_->BeginZone());
    std::vector<const std::string*> members;
    for (const std::string& list : lists) members.push_back(&list);
    const std::uint64_t first = base_sequence_ + caught_up_ + 1;
    if (Status next = writer_->CheckNextCommit(first, first + members.size() - 1); !next.ok()) {
      MutexLock lock(log_.mutex_);
      log_.GoReadOnly(next.error().With(log_.device_.name() + ": the volume is read-only from now on"));
      return next;
    }
    ZENFS_RETURN_IF_ERROR(
        writer_->Write(FrameKind::kCommit, EncodeCommit(members), first, first + members.size() - 1));
    caught_up_ += members.size();
  }
}

Status Metalog::Checkpoint::CompleteGeneration() {
  GenerationWriter& writer = *writer_;
  if (writer.room() < log_.layout_.block_size + need_) {
    ZENFS_RETURN_IF_ERROR(writer.BeginZone());
    if (writer.room() < log_.layout_.block_size + need_) {
      return Fail(Code::kNoSpace,
                  fmt::format("{} bytes do not fit metadata zone {}", need_, writer.zone().value));
    }
  }
  ZENFS_RETURN_IF_ERROR(FlushWrittenSince(log_.device_, written_since_));
  SyncPoint::Reach("Metalog::Checkpoint::CompleteGeneration:flushed");
  Status done = writer.WriteSwitchComplete();
  if (done.ok()) done = FlushWrittenSince(log_.device_, written_since_);
  if (done.ok()) return {};
  // A mount may find this generation complete, so nothing more may be written to the old one. Of a pair, the zone whose
  // write failed is distrusted already.
  if (copies_ == 1) log_.zones_.Distrust(writer.zone(), Metazones::Trust::kBad);
  in_doubt_ = writer.chain();
  in_doubt_tail_ = writer.tail();
  MutexLock lock(log_.mutex_);
  log_.current_.Fence();
  return done;
}

void Metalog::Checkpoint::TakeLead() {
  if (leads_) return;
  MutexLock lock(log_.mutex_);
  log_.queue_.LeadForSwitch(log_.mutex_);
  ZENFS_ASSERT(log_.log_switch_.running());
  leads_ = true;
}

void Metalog::Checkpoint::Finish(const Status& result) {
  std::unique_ptr<GenerationWriter> old;  // destroyed without the lock
  MutexLock lock(log_.mutex_);
  log_.stats_.bytes_written += bytes_written_;
  if (result.ok()) {
    old = MoveLog();
    log_.CheckReplica(log_.replica_.Thaw(std::move(footprint_)));
  } else {
    log_.current_.NoteSwitchFailed();
    log_.CheckReplica(log_.replica_.Thaw());
  }
  if (!result.ok() && !log_.current_.clean()) {
    log_.GoReadOnly(result.error().With(
        log_.device_.name() +
        ": the volume is read-only from now on, because the metadata log has no usable "
        "zone left; existing data can be read: unmount, check the device, and mount again"));
  }
  log_.log_switch_.End(result);
  log_.NoteWanted();
  if (leads_) return log_.queue_.EndLead();
  log_.queue_.WakeNext();
}

// The new generation takes the commits from now on. Returns the writer of the old one.
std::unique_ptr<GenerationWriter> Metalog::Checkpoint::MoveLog() {
  ZENFS_ASSERT(leads_ && base_sequence_ + caught_up_ == log_.stats_.sequence);
  log_.smallest_zone_bytes_ =
      std::min(log_.smallest_zone_bytes_, writer_->zone_capacity() - log_.layout_.frames_at);
  // If this switch was to complete the copies and did not, the next one waits until it has another reason.
  const bool lacks_copy = copies_ < log_.wanted_copies_ && !completes_copy_ &&
                          log_.zones_.Others(writer_->chain()) >= log_.wanted_copies_;
  log_.zones_.NoteSwitched();
  log_.stats_.copies = copies_;
  std::unique_ptr<GenerationWriter> old =
      log_.current_.MoveTo(std::move(writer_), log_.space().SwitchReserve(), lacks_copy);
  log_.stats_.bytes_written += old->bytes_written();
  ++log_.stats_.switches;
  log_.stats_.generation = log_.current_.writer().generation();
  log_.CountWritten();
  return old;
}

}  // namespace zenfs
