#include "wal/file_zones.h"

#include <utility>

namespace zenfs {

FileZones::~FileZones() {
  if (log_ == nullptr) return;
  for (auto& [id, zone] : zones_) {
    zone.pin = ZonePin();  // before LogZones checks for pins
    if (zone.frames.device_bytes != 0) log_->RemoveLive(id, zone.frames);
  }
}

void FileZones::Adopt(const std::map<ZoneId, std::uint64_t>& device_bytes, std::span<const Piece> pieces) {
  for (const auto& [zone, bytes] : device_bytes) {
    zones_[zone] = {.pin = manager_.Pin(zone), .frames = {.device_bytes = bytes}};
  }
  for (const Piece& piece : pieces) {
    if (piece.damaged || piece.sequence == 0) continue;
    zones_[geometry_.ZoneOf(piece.place)].frames.payload += piece.length;
  }
  if (log_ == nullptr) return;
  for (const auto& [id, zone] : zones_) log_->AddLive(id, zone.frames);
}

void FileZones::Pin(DeviceOffset place) {
  const ZoneId zone = geometry_.ZoneOf(place);
  Entry& entry = zones_[zone];
  if (!entry.pin.valid()) entry.pin = manager_.Pin(zone);
}

void FileZones::Add(const PlacedFrame& frame) {
  Entry& entry = zones_[frame.pin.zone()];
  entry.frames += {frame.device_bytes, frame.length};
  if (!entry.pin.valid()) entry.pin = frame.pin;
}

void FileZones::Recount(std::span<const Piece> pieces) {
  std::map<ZoneId, Entry> old = std::exchange(zones_, {});
  for (const Piece& piece : pieces) {
    if (piece.damaged) continue;
    Pin(piece.place);
    if (piece.sequence != 0) {
      zones_[geometry_.ZoneOf(piece.place)].frames += {piece.frame_bytes, piece.length};
    }
  }
  for (auto& [id, zone] : old) {
    const auto it = zones_.find(id);
    zone.pin = ZonePin();
    // In this order, so that the count never is 0 in between and the zone is not released.
    if (it != zones_.end()) log_->AddLive(id, it->second.frames);
    log_->RemoveLive(id, zone.frames);
  }
}

std::map<ZoneId, LiveFrames> FileZones::Frames() const {
  std::map<ZoneId, LiveFrames> frames;
  for (const auto& [id, zone] : zones_) {
    if (zone.frames.device_bytes != 0) frames.emplace(id, zone.frames);
  }
  return frames;
}

}  // namespace zenfs
