#include "simulated_log.h"

#include <algorithm>

namespace zenfs::space {

std::uint64_t SimulatedLog::Append(FileId id, std::uint64_t bytes) {
  if (!current_) return 0;
  Zone& zone = log_zones_.at(*current_);
  const std::uint64_t written = std::min(bytes, zones_.capacity() - zone.written);
  zone.written += written;
  zone.live += written;
  frames_[id][*current_] += written;
  if (zone.written == zones_.capacity()) current_.reset();
  return written;
}

AllocationOutcome SimulatedLog::AllocateZone() {
  const ZoneAllocation taken = zones_.AllocateLogZone();
  if (taken.outcome == AllocationOutcome::kAllocated) {
    log_zones_.emplace(taken.zone, Zone{.generation = next_generation_++});
    current_ = taken.zone;
  }
  return taken.outcome;
}

void SimulatedLog::Delete(FileId id) {
  const auto file = frames_.find(id);
  if (file == frames_.end()) return;
  const std::map<ZoneId, std::uint64_t> frames = std::move(file->second);
  frames_.erase(file);
  for (const auto& [zone, bytes] : frames) RemoveLive(zone, bytes);
}

std::vector<std::pair<FileId, std::uint64_t>> SimulatedLog::FramesUpTo(ZoneId zone) const {
  const std::uint64_t generation = log_zones_.at(zone).generation;
  std::vector<std::pair<FileId, std::uint64_t>> files;
  for (const auto& [id, frames] : frames_) {
    if (!frames.contains(zone)) continue;
    std::uint64_t bytes = 0;
    for (const auto& [other, its_bytes] : frames) {
      if (log_zones_.at(other).generation <= generation) bytes += its_bytes;
    }
    files.emplace_back(id, bytes);
  }
  std::ranges::sort(files);  // the order of an unordered map differs between libraries
  return files;
}

void SimulatedLog::Drop(FileId id, ZoneId up_to) {
  const std::uint64_t generation = log_zones_.at(up_to).generation;
  const std::map<ZoneId, std::uint64_t> frames = frames_.at(id);
  for (const auto& [zone, bytes] : frames) {
    if (log_zones_.at(zone).generation > generation) continue;
    frames_.at(id).erase(zone);
    RemoveLive(zone, bytes);
  }
}

void SimulatedLog::RemoveLive(ZoneId zone, std::uint64_t bytes) {
  log_zones_.at(zone).live -= bytes;
  if (current_ == zone) return;
  zones_.demand().NoteChange();
  ReleaseIfDead(zone);
}

void SimulatedLog::ReleaseIfDead(ZoneId zone) {
  if (log_zones_.at(zone).live != 0) return;
  log_zones_.erase(zone);
  zones_.ReleaseLogZone(zone);
}

std::vector<Victim> SimulatedLog::Victims() const {
  std::vector<LogZoneStatus> log_zones;
  bool any = false;
  for (const auto& [id, zone] : log_zones_) {
    const LiveFrames live{.device_bytes = zone.live, .payload = zone.live};
    log_zones.push_back({.zone = id,
                         .generation = zone.generation,
                         .capacity = zones_.capacity(),
                         .written = zone.written,
                         .live = live,
                         .closed = current_ != id});
    any = any || log_zones.back().closed;
  }
  if (!any) return {};
  std::vector<FramesOfFile> files;
  for (const auto& [id, frames] : frames_) {
    FramesOfFile& file = files.emplace_back();
    for (const auto& [zone, bytes] : frames) file[zone] = {.device_bytes = bytes, .payload = bytes};
  }
  return LogVictims(log_zones, files, statuses_, zones_.geometry().block_size);
}

}  // namespace zenfs::space
