#include "metalog/switch_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/caught.h"
#include "base/random.h"
#include "base/sync_point.h"
#include "format/metalog_payload.h"
#include "metalog/flush.h"
#include "metalog/state_snapshot.h"

namespace zenfs {
namespace {

constexpr int kRoundsBeforeLead = 3;
constexpr std::uint64_t kCatchUpBytes = 256 << 10;

}  // namespace

void SwitchRun::Run() noexcept {
  std::optional<Meter> meter;
  {
    MutexLock lock(log_.mutex);
    if (log_.metrics != nullptr) meter.emplace(*log_.metrics, Operation::kLogSwitch);
  }
  Status result = Begin();
  const bool begun = result.ok();
  for (std::size_t attempt = 0; begun && attempt <= log_.zones.size(); ++attempt) {
    result = Try();
    if (result.ok() || !LogIsHealthy()) break;
    if (result.error().code() == Code::kNoSpace && copies_ == 1) break;
    if (writer_ != nullptr) bytes_written_ += writer_->bytes_written();
    writer_.reset();
    if (result.error().code() == Code::kNoSpace) copies_ = 1;
    if (result.error().code() == Code::kBusy) FreeSlot();
  }
  if (result.ok()) log_.zones.FinishSuperseded(writer_->chain(), log_.spare_slots);
  if (meter) result = meter->Done(std::move(result));
  meter.reset();  // the metrics may be destroyed once the log switch is finished
  Finish(result);
}

Status SwitchRun::Begin() {
  {
    MutexLock lock(log_.mutex);
    ZENFS_ASSERT(log_.log_switch.running());
    frozen_ = &log_.replica.Freeze();
    base_sequence_ = log_.stats.sequence;
    current_chain_ = log_.current.writer().chain();
    current_zone_ = log_.current.writer().zone();
    completes_copy_ = log_.current.lacks_copy();
    copies_ = log_.copies;
    need_ =
        std::max(log_.space().MinRoom(), log_.log_switch.need() + (1 + log_.copies) * log_.layout.block_size);
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
void SwitchRun::RetireZones() {
  MutexLock lock(log_.mutex);
  MetalogSpace space = log_.space();
  const std::size_t count = space.ZonesOfPlace();
  if (log_.zones.HasFresh() || log_.zones.named().size() < count) return;
  space.zones -= static_cast<std::uint32_t>(count);
  if (space.SnapshotLimit(Growth::kGrows) / 4 < log_.replica.used_bytes()) return;
  log_.zones.Retire(count);
}

void SwitchRun::FreeSupersededZones() {
  const std::vector<ZoneId> freed = log_.zones.FreeSuperseded();
  if (freed.empty()) return;
  MutexLock lock(log_.mutex);
  log_.freed_zones.insert(log_.freed_zones.end(), freed.begin(), freed.end());
  log_.has_freed_zones.store(true);
}

bool SwitchRun::LogIsHealthy() const {
  MutexLock lock(log_.mutex);
  return log_.health.ok();
}

Status SwitchRun::Try() {
  std::vector<ZoneId> keep = current_chain_;
  // If a generation in doubt lost some zones but kept its SwitchComplete, a mount would take it for a damaged complete
  // one. So reset the zones of its SwitchComplete first, durably, or keep all of its zones.
  std::erase_if(in_doubt_tail_, [&](ZoneId zone) { return log_.zones.EmptyFirst(zone, keep); });
  if (in_doubt_tail_.empty()) in_doubt_.clear();
  keep.insert(keep.end(), in_doubt_.begin(), in_doubt_.end());
  log_.zones.ResetAllBut(keep);
  FreeSupersededZones();
  // Write no SwitchBegin if no zone is left for the switch: after it, a mount must assume that an offline zone holds newer
  // commits.
  const std::uint32_t others = log_.zones.Others(keep);
  copies_ = std::min(copies_, std::max(others, 1u));
  if (others == 0) {
    return Fail(Code::kNoSpace, "no metadata zone is left to write to (none of the others can be emptied)");
  }
  ZENFS_RETURN_IF_ERROR(BeginInOldZone());
  GenerationWriter::Start start{.salt = RandomSeed(),
                                .base_sequence = base_sequence_,
                                .keep = std::move(keep),
                                .after = current_zone_,
                                .copies = copies_};
  {
    MutexLock lock(log_.mutex);
    start.generation = log_.current.TakeNumber();
  }
  caught_up_ = 0;
  written_since_ = FlushMark::Now(log_.device);
  writer_ = std::make_unique<GenerationWriter>(log_.device, log_.superblock, log_.zones, std::move(start));
  ZENFS_RETURN_IF_ERROR(writer_->BeginZone());
  ZENFS_RETURN_IF_ERROR(WriteSnapshot(*writer_, *frozen_, base_sequence_));
  SyncPoint::Reach("metalog:snapshot-written");
  ZENFS_RETURN_IF_ERROR(CatchUp());
  return CompleteGeneration();
}

// Writes SwitchBegin to the old zone. It tells a mount that other zones may hold newer commits; without it, an offline
// zone cannot. A fenced zone is not written, so a mount then has to do without SwitchBegin.
Status SwitchRun::BeginInOldZone() {
  if (announced_ != 0 && announced_ <= copies_) return {};
  TakeLead();
  GenerationWriter* writer = nullptr;
  std::uint64_t sequence = 0;
  {
    MutexLock lock(log_.mutex);
    if (log_.current.clean()) writer = &log_.current.writer();
    sequence = log_.stats.sequence;
  }
  const FlushMark mark = FlushMark::Now(log_.device);
  Status written;
  if (writer != nullptr && writer->room() > 0)
    written = writer->Write(FrameKind::kSwitchBegin, EncodeSwitchBegin(copies_), sequence, sequence);
  // Like every frame it is durable before the next one: to a mount, a gap before a valid frame is damage.
  if (written.ok() && writer != nullptr) written = FlushWrittenSince(log_.device, mark);
  announced_ = copies_;
  MutexLock lock(log_.mutex);
  if (!written.ok()) log_.current.Fence();  // no commit is lost, but the end of the log is unknown
  leads_ = false;
  log_.queue.EndLead();
  return {};
}

// Called if the device has no slot for the next active zone. Finishes the current one, which stays readable.
void SwitchRun::FreeSlot() {
  TakeLead();
  GenerationWriter* writer = nullptr;
  {
    MutexLock lock(log_.mutex);
    writer = &log_.current.writer();
  }
  IgnoreError(writer->CloseZone());
}

Status SwitchRun::CatchUp() {
  for (int round = 0; round < kRoundsBeforeLead && !leads_; ++round) {
    const std::size_t before = caught_up_;
    ZENFS_RETURN_IF_ERROR(WritePending());
    if (caught_up_ == before) break;
  }
  SyncPoint::Reach("metalog:caught-up");
  TakeLead();
  return WritePending();
}

// Copies the pending commits that are not copied yet, with the same sequences.
Status SwitchRun::WritePending() {
  for (;;) {
    std::vector<std::string> lists;
    std::uint64_t bytes = kMaxCountBytes;
    {
      MutexLock lock(log_.mutex);
      const std::deque<Replica::Pending>& pending = log_.replica.pending();
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
      MutexLock lock(log_.mutex);
      log_.GoReadOnly(next.error().With(log_.device.name() + ": the volume is read-only from now on"));
      return next;
    }
    ZENFS_RETURN_IF_ERROR(
        writer_->Write(FrameKind::kCommit, EncodeCommit(members), first, first + members.size() - 1));
    caught_up_ += members.size();
  }
}

Status SwitchRun::CompleteGeneration() {
  GenerationWriter& writer = *writer_;
  if (writer.room() < log_.layout.block_size + need_) {
    ZENFS_RETURN_IF_ERROR(writer.BeginZone());
    if (writer.room() < log_.layout.block_size + need_) {
      return Fail(Code::kNoSpace,
                  fmt::format("{} bytes do not fit metadata zone {}", need_, writer.zone().value));
    }
  }
  ZENFS_RETURN_IF_ERROR(FlushWrittenSince(log_.device, written_since_));
  SyncPoint::Reach("metalog:before-complete");
  const std::uint64_t sequence = base_sequence_ + caught_up_;
  const SwitchComplete complete{.salt = writer.salt(),
                                .frames = writer.frames(),
                                .sequence = sequence,
                                .chain_index = writer.chain_index()};
  Status done = writer.Write(FrameKind::kSwitchComplete, EncodeSwitchComplete(complete), sequence, sequence);
  if (done.ok()) done = FlushWrittenSince(log_.device, written_since_);
  if (done.ok()) return {};
  // A mount may find this generation complete, so nothing more may be written to the old one. Of a pair, the zone whose
  // write failed is distrusted already.
  if (copies_ == 1) log_.zones.Distrust(writer.zone(), Metazones::Trust::kBad);
  in_doubt_ = writer.chain();
  in_doubt_tail_ = writer.tail();
  MutexLock lock(log_.mutex);
  log_.current.Fence();
  return done;
}

void SwitchRun::TakeLead() {
  if (leads_) return;
  MutexLock lock(log_.mutex);
  log_.queue.LeadForSwitch(log_.mutex);
  ZENFS_ASSERT(log_.log_switch.running());
  leads_ = true;
}

void SwitchRun::Finish(const Status& result) {
  std::unique_ptr<GenerationWriter> old;  // destroyed without the lock
  MutexLock lock(log_.mutex);
  log_.stats.bytes_written += bytes_written_;
  if (result.ok()) {
    old = MoveLog();
    log_.CheckReplica(log_.replica.Thaw(std::move(footprint_)));
  } else {
    log_.current.NoteSwitchFailed();
    log_.CheckReplica(log_.replica.Thaw());
  }
  if (!result.ok() && !log_.current.clean()) {
    log_.GoReadOnly(result.error().With(
        log_.device.name() +
        ": the volume is read-only from now on, because the metadata log has no usable "
        "zone left; existing data can be read: unmount, check the device, and mount again"));
  }
  log_.log_switch.End(result);
  log_.NoteWanted();
  if (leads_) return log_.queue.EndLead();
  log_.queue.WakeNext();
}

// The new generation takes the commits from now on. Returns the writer of the old one.
std::unique_ptr<GenerationWriter> SwitchRun::MoveLog() {
  ZENFS_ASSERT(leads_ && base_sequence_ + caught_up_ == log_.stats.sequence);
  log_.smallest_zone_bytes =
      std::min(log_.smallest_zone_bytes, writer_->zone_capacity() - log_.layout.frames_at);
  // If this switch was to complete the copies and did not, the next one waits until it has another reason.
  const bool lacks_copy =
      copies_ < log_.copies && !completes_copy_ && log_.zones.Others(writer_->chain()) >= log_.copies;
  log_.zones.NoteSwitched();
  log_.stats.copies = copies_;
  std::unique_ptr<GenerationWriter> old =
      log_.current.MoveTo(std::move(writer_), log_.space().SwitchReserve(), lacks_copy);
  log_.stats.bytes_written += old->bytes_written();
  ++log_.stats.switches;
  log_.stats.generation = log_.current.writer().generation();
  log_.CountWritten();
  return old;
}

}  // namespace zenfs
