#include "buffers/announced_zones.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
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
  Make(Change::kAnnounce, zones);
  return std::shared_ptr<const Hold>(new Hold(shared_from_this(), std::move(zones)));
}

void AnnouncedZones::Make(Change change, const std::vector<ZoneId>& zones) {
  MutexLock lock(mutex_);
  bool too_many = false;
  std::uint64_t first = 0;  // of the units that are not told yet
  std::uint64_t end = 0;
  for (const ZoneId zone : zones) {
    const std::uint32_t unit = zone.value >> unit_bits_;
    if (!Count(change, unit)) continue;
    too_many |= runs_ > kRunsMax;
    if (unit != end) {
      if (!too_many) Tell(change, first, end);
      first = unit;
    }
    end = unit + 1;
  }
  if (too_many) {
    Coarsen();
  } else {
    Tell(change, first, end);
  }
  if (holds_.empty()) unit_bits_ = 0;
}

bool AnnouncedZones::Count(Change change, std::uint32_t unit) {
  const auto neighbours = [&] {
    mutex_.AssertHeld();
    return holds_.count(unit - 1) + holds_.count(unit + 1);
  };
  if (change == Change::kAnnounce) {
    if (holds_[unit]++ != 0) return false;
    runs_ = runs_ + 1 - neighbours();
  } else {
    const auto it = holds_.find(unit);
    if (--it->second != 0) return false;
    holds_.erase(it);
    runs_ = runs_ + neighbours() - 1;
  }
  return true;
}

void AnnouncedZones::Tell(Change change, std::uint64_t first, std::uint64_t end) {
  if (first == end) return;
  const std::uint64_t zone = first << unit_bits_;
  const std::uint64_t count = (end - first) << unit_bits_;
  if (change == Change::kAnnounce) {
    memory_.Announce(zone, count);
  } else {
    memory_.Withdraw(zone, count);
  }
}

// The nodes of the map are used again: a destructor must not run out of memory.
void AnnouncedZones::Coarsen() {
  while (runs_ > kRunsMax) {
    ++unit_bits_;
    runs_ = 0;
    auto last = holds_.end();  // of the larger units
    for (auto it = holds_.begin(); it != holds_.end();) {
      auto node = holds_.extract(it++);
      node.key() >>= 1;
      if (last != holds_.end() && last->first == node.key()) {
        last->second += node.mapped();
        continue;
      }
      if (last == holds_.end() || last->first + 1 != node.key()) ++runs_;
      last = holds_.insert(it, std::move(node));
    }
  }
  std::uint64_t end = 0;  // of what is told
  for (auto it = holds_.begin(); it != holds_.end();) {
    const std::uint64_t first = it->first;
    Tell(Change::kWithdraw, end, first);
    for (end = first; it != holds_.end() && it->first == end; ++it) ++end;
    Tell(Change::kAnnounce, first, end);
  }
  Tell(Change::kWithdraw, end, RoundUp(zone_count_, std::uint64_t{1} << unit_bits_) >> unit_bits_);
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

AnnouncedZones::Hold::~Hold() { owner_->Make(Change::kWithdraw, zones_); }

bool AnnouncedZones::Hold::NoneWasReset() const {
  return resets_.size() == zones_.size() && owner_->ResetsOf(zones_) == resets_ && owner_->WriterRuns();
}

}  // namespace zenfs
