#include "buffers/announced_zones.h"

#include <algorithm>
#include <cstring>

#include "buffers/buffer_area_place.h"
#include "format/buffer_area_layout.h"

namespace zenfs {

std::shared_ptr<AnnouncedZones> AnnouncedZones::Open(const WhoseBuffers& whose) {
  const auto place = BufferAreaPlace::Parse(whose.place);
  if (!place || place->boot != whose.boot || whose.key.empty()) return nullptr;
  auto memory =
      SharedMemory::Open(place->path, SharedMemory::Access::kRead, whose.owners, kBufferAreaHeaderBytes);
  if (!memory || !memory->valid()) return nullptr;
  const auto header = ReadBufferAreaHeader(memory->view(), memory->file_bytes());
  if (!header || header->zones == 0) return nullptr;
  const bool ours = whose.key.size() == sizeof(header->key) &&
                    std::memcmp(whose.key.data(), header->key, sizeof(header->key)) == 0 &&
                    std::memcmp(whose.volume.bytes.data(), header->volume, sizeof(header->volume)) == 0 &&
                    whose.identity == header->identity;
  if (!ours || !memory->MakerRuns()) return nullptr;
  return std::shared_ptr<AnnouncedZones>(
      new AnnouncedZones(*std::move(memory), header->resets_offset, header->zones));
}

std::shared_ptr<const AnnouncedZones::Hold> AnnouncedZones::Announce(std::vector<ZoneId> zones) {
  std::ranges::sort(zones);
  const auto repeated = std::ranges::unique(zones);
  zones.erase(repeated.begin(), repeated.end());
  if (!zones.empty() && zones.back().value >= zone_count_) return nullptr;  // not of this device
  {
    MutexLock lock(mutex_);
    for (const ZoneId zone : zones) {
      if (holds_[zone]++ == 0) memory_.Announce(zone.value);
    }
  }
  return std::shared_ptr<const Hold>(new Hold(shared_from_this(), std::move(zones)));
}

void AnnouncedZones::Withdraw(const std::vector<ZoneId>& zones) {
  MutexLock lock(mutex_);
  for (const ZoneId zone : zones) {
    const auto it = holds_.find(zone);
    if (--it->second != 0) continue;
    memory_.Withdraw(zone.value);
    holds_.erase(it);
  }
}

std::vector<std::uint32_t> AnnouncedZones::ResetsOf(const std::vector<ZoneId>& zones) const {
  std::vector<std::uint32_t> resets(zones.size());
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const ByteSpan count = std::as_writable_bytes(std::span(&resets[i], 1));
    if (!memory_.ReadAt(resets_offset_ + zones[i].value * sizeof(std::uint32_t), count).ok()) return {};
  }
  return resets;
}

AnnouncedZones::Hold::Hold(std::shared_ptr<AnnouncedZones> owner, std::vector<ZoneId> zones)
    : owner_(std::move(owner)), zones_(std::move(zones)), resets_(owner_->ResetsOf(zones_)) {}

AnnouncedZones::Hold::~Hold() { owner_->Withdraw(zones_); }

bool AnnouncedZones::Hold::NoneWasReset() const {
  return resets_.size() == zones_.size() && owner_->ResetsOf(zones_) == resets_ && owner_->WriterRuns();
}

}  // namespace zenfs
