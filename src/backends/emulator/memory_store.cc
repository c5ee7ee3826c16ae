#include "backends/emulator/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/emulator/zone_machine.h"

namespace zenfs {

MemoryStore::MemoryStore(const EmulatorGeometry& geometry)
    : geometry_(geometry), states_(geometry.zones), zones_(geometry.zones) {
  const ZoneMachine fresh(geometry);
  for (std::uint32_t i = 0; i < geometry.zones; ++i) states_[i] = fresh.state(ZoneId(i));
}

Status MemoryStore::Read(ZoneId zone, std::uint64_t offset, ByteSpan into) {
  const Block block = Find(zone);
  if (block == nullptr) {
    std::memset(into.data(), 0, into.size());
  } else {
    std::memcpy(into.data(), block.get() + offset, into.size());
  }
  return {};
}

Status MemoryStore::Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) {
  const Block block = FindOrAllocate(zone);
  if (block == nullptr) return Fail(Code::kIo, fmt::format("no memory for the data of zone {}", zone.value));
  for (const ByteView piece : pieces) {
    std::memcpy(block.get() + offset, piece.data(), piece.size());
    offset += piece.size();
  }
  return {};
}

Status MemoryStore::Discard(ZoneId zone) {
  Block block;  // freed after the lock, because that takes milliseconds
  MutexLock lock(mutex_);
  block.swap(zones_[zone.value]);
  return {};
}

Status MemoryStore::SaveState(ZoneId zone, MachineZone state) {
  states_[zone.value] = state;
  return {};
}

Status MemoryStore::LoadStates(ZoneId first, std::span<MachineZone> into) const {
  std::copy_n(states_.begin() + first.value, into.size(), into.begin());
  return {};
}

MemoryStore::Block MemoryStore::Find(ZoneId zone) const {
  MutexLock lock(mutex_);
  return zones_[zone.value];
}

MemoryStore::Block MemoryStore::FindOrAllocate(ZoneId zone) {
  MutexLock lock(mutex_);
  Block& block = zones_[zone.value];
  if (block == nullptr) {
    // calloc takes large blocks from the kernel's zero pages, so parts that are not written cost
    // nothing.
    block = Block(static_cast<std::byte*>(std::calloc(1, geometry_.capacity_of(zone))), &std::free);
  }
  return block;
}

}  // namespace zenfs
