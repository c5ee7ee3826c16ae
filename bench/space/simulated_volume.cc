#include "simulated_volume.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace zenfs::space {
namespace {

using What = TraceEvent::What;

}  // namespace

Status SimulatedVolume::Apply(const TraceEvent& event) {
  refused_.clear();
  if (event.what == What::kCreate) {
    const bool added = files_.emplace(event.id, File{.kind = event.kind, .lifetime = event.lifetime}).second;
    return added ? Status() : Fail(Code::kCorruption, fmt::format("file {} exists already", event.id.value));
  }
  const auto found = files_.find(event.id);
  if (found == files_.end())
    return Fail(Code::kCorruption, fmt::format("there is no file {}", event.id.value));
  File& file = found->second;
  switch (event.what) {
    case What::kLifetime: file.lifetime = event.lifetime; break;
    case What::kSize: return Resize(event.id, file, event.bytes, false);
    case What::kClose: return Resize(event.id, file, event.bytes, true);
    case What::kDelete: Delete(event.id, file); break;
    case What::kCreate:
    case What::kFile:
    case What::kBegin:
    case What::kEnd: break;
  }
  return {};
}

// A plain file holds its last, incomplete block back until it is closed. A truncation only changes the size: RocksDB cuts
// off less than a page.
Status SimulatedVolume::Resize(FileId id, File& file, std::uint64_t size, bool closes) {
  const std::uint64_t grown = size - std::min(size, file.size);
  file.size = size;
  SpaceCounts& counts = zones_.counts();
  if (IsFramed(file.kind)) {
    counts.log_bytes += grown;
    return WriteFramed(id, grown);
  }
  counts.data_bytes += grown;
  const std::uint64_t block = zones_.geometry().block_size;
  const std::uint64_t blocks = closes ? RoundUp(size, block) : RoundDown(size, block);
  if (closes) counts.padding_bytes += blocks - size;
  if (blocks > file.in_blocks) ZENFS_RETURN_IF_ERROR(WritePlain(id, file, blocks - file.in_blocks));
  if (closes) zones_.Unclaim(file.claim);
  return {};
}

Status SimulatedVolume::WritePlain(FileId id, File& file, std::uint64_t bytes) {
  for (std::uint64_t left = bytes; left != 0;) {
    const SimulatedZones::Written written =
        zones_.Write(file.claim, file.lifetime, WritePurpose::kData, left);
    if (written.outcome != AllocationOutcome::kAllocated) {
      ZENFS_RETURN_IF_ERROR(WaitFor(written.outcome));
      continue;
    }
    AddExtent(id, file, written.extent);
    file.in_blocks += written.extent.length;
    left -= written.extent.length;
    CollectAfter(written.extent.length);
  }
  return {};
}

Status SimulatedVolume::WriteFramed(FileId id, std::uint64_t bytes) {
  for (std::uint64_t left = bytes; left != 0;) {
    const std::uint64_t written = log_.Append(id, left);
    left -= written;
    if (written != 0) {
      CollectAfter(written);
      continue;
    }
    const AllocationOutcome outcome = log_.AllocateZone();
    if (outcome != AllocationOutcome::kAllocated) ZENFS_RETURN_IF_ERROR(WaitFor(outcome));
  }
  return {};
}

Status SimulatedVolume::WaitFor(AllocationOutcome outcome) {
  ReclaimDemand& demand = zones_.demand();
  demand.WaitsForReclaim(outcome, true);
  const std::optional<ReclaimNeed> need =
      outcome == AllocationOutcome::kWaitForReclaim ? demand.Need() : std::nullopt;
  if (need) EmptyOne(*need);
  demand.WaitsForReclaim(outcome, false);
  ++zones_.counts().waits;
  return need ? Status() : Fail(Code::kNoSpace, "the device is full");
}

void SimulatedVolume::AddExtent(FileId id, File& file, const Extent& extent) {
  const bool follows = !file.extents.empty() && zones_.ZoneOf(file.extents.back()) == zones_.ZoneOf(extent) &&
                       file.extents.back().place + file.extents.back().length == extent.place;
  if (follows) {
    file.extents.back().length += extent.length;
    return;
  }
  std::vector<FileId>& files = files_in_[zones_.ZoneOf(extent).value];
  if (zones_.geometry().ZoneStart(zones_.ZoneOf(extent)) == extent.place)
    files.clear();  // the zone was reset before
  files.push_back(id);
  file.extents.push_back(extent);
}

void SimulatedVolume::Delete(FileId id, File& file) {
  zones_.Unclaim(file.claim);
  zones_.Remove(file.extents);
  if (IsFramed(file.kind)) log_.Delete(id);
  files_.erase(id);
}

void SimulatedVolume::CollectAfter(std::uint64_t written) {
  bool earned = false;
  while (const std::optional<ReclaimNeed> need = zones_.demand().Need()) {
    if (!earned) {
      const std::uint64_t share = need->urgency >= ReclaimUrgency::kAhead ? written : written / 3;
      allowance_ += static_cast<std::int64_t>(share);
      allowance_ = std::min(allowance_, static_cast<std::int64_t>(zones_.capacity()));
      earned = true;
    }
    if (pace_ == Pace::kShares && need->urgency != ReclaimUrgency::kUrgent && allowance_ <= 0) return;
    const std::uint64_t before = zones_.counts().copied_bytes;
    EmptyOne(*need);
    allowance_ -= static_cast<std::int64_t>(zones_.counts().copied_bytes - before);
  }
}

// Unless space is urgent, writes alone create no victim, so the same search is not made again. ZenFS makes it.
std::optional<Victim> SimulatedVolume::FindVictim(const ReclaimNeed& need) {
  const bool again = searched_version_ == zones_.victims_version() && searched_for_ >= need.urgency;
  if (again && need.urgency != ReclaimUrgency::kUrgent) return std::nullopt;
  std::vector<Victim> victims = DataVictims(zones_.VictimCandidates());
  std::ranges::move(log_.Victims(), std::back_inserter(victims));
  std::optional<Victim> victim = ChooseVictim(victims, need, refused_, zones_.geometry().block_size);
  if (!victim) {
    searched_version_ = zones_.victims_version();
    searched_for_ = need.urgency;
  }
  return victim;
}

// One round of the collector, as Reclaimer::Reclaim.
void SimulatedVolume::EmptyOne(const ReclaimNeed& need) {
  const std::optional<Victim> victim = FindVictim(need);
  if (!victim) {
    const bool urgent = need.urgency == ReclaimUrgency::kUrgent;
    if (urgent && need.headroom_whole() && zones_.ReduceLogShare()) return;
    zones_.demand().SetVerdict(
        {.version = need.version, .urgency = need.urgency, .victims = need.victims, .pending = false});
    return;
  }
  bool emptied = false;
  switch (victim->kind) {
    case Victim::Kind::kData: emptied = MoveOut(victim->zone); break;
    case Victim::Kind::kActive: emptied = zones_.Finish(victim->zone); break;
    case Victim::Kind::kLog: emptied = CleanLogZone(victim->zone); break;
  }
  if (emptied) {
    refused_.clear();
  } else {
    refused_.insert(victim->zone);
  }
}

bool SimulatedVolume::MoveOut(ZoneId zone) {
  const std::vector<FileId> files = std::move(files_in_[zone.value]);
  files_in_[zone.value].clear();
  for (auto it = files.begin(); it != files.end(); ++it) {
    const auto file = files_.find(*it);
    if (file == files_.end() || MoveFile(*it, file->second, zone)) continue;
    files_in_[zone.value].assign(it, files.end());
    return false;
  }
  ++zones_.counts().zones_copied;
  return true;
}

bool SimulatedVolume::MoveFile(FileId id, File& file, ZoneId zone) {
  for (;;) {
    const auto from =
        std::ranges::find_if(file.extents, [&](const Extent& each) { return zones_.ZoneOf(each) == zone; });
    if (from == file.extents.end()) return true;
    const Extent old = *from;
    file.extents.erase(from);
    if (!Copy(id, file, old.length)) {
      file.extents.push_back(old);
      return false;
    }
    zones_.Remove({&old, 1});
  }
}

// The copies have the lifetime of the file, and zones of their own while enough zones are left.
bool SimulatedVolume::Copy(FileId id, File& file, std::uint64_t bytes) {
  std::vector<Extent> copies;
  ClaimState& claim = copy_claims_[static_cast<std::size_t>(file.lifetime)];
  for (std::uint64_t left = bytes; left != 0;) {
    const SimulatedZones::Written written = zones_.Write(claim, file.lifetime, WritePurpose::kReclaim, left);
    if (written.outcome != AllocationOutcome::kAllocated) {
      zones_.Remove(copies);  // an attempt without room has wasted them
      return false;
    }
    zones_.counts().copied_bytes += written.extent.length;
    left -= written.extent.length;
    copies.push_back(written.extent);
  }
  for (const Extent& copy : copies) AddExtent(id, file, copy);
  return true;
}

bool SimulatedVolume::CleanLogZone(ZoneId zone) {
  for (const auto& [id, bytes] : log_.FramesUpTo(zone)) {
    const std::uint64_t blocks = RoundUp(bytes, std::uint64_t{zones_.geometry().block_size});
    if (!Copy(id, files_.at(id), blocks)) return false;
    log_.Drop(id, zone);
  }
  ++zones_.counts().log_zones_cleaned;
  return true;
}

}  // namespace zenfs::space
