#include "backends/emulator/volatile_cache.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/zeros.h"

namespace zenfs {
Result<BlockSet> WrittenBlocks(Store& store, ZoneId zone, const RandomWindow& window,
                               std::uint32_t block_size) {
  ZENFS_ASSERT(window.area <= kBlockSetSize);
  AlignedBuffer bytes(block_size);
  BlockSet written = 0;
  for (std::uint64_t block = window.start; block < window.end(); ++block) {
    ZENFS_RETURN_IF_ERROR(store.Read(zone, block * block_size, bytes.Whole()));
    if (!IsZeros(bytes.Whole())) written |= BitOf(block);
  }
  return written;
}

Status VolatileCache::Found(ZoneId zone, const ZoneMachine& machine) {
  const MachineZone state = machine.state(zone);
  if (state.random_area) {
    ZENFS_ASSIGN_OR_RETURN(const BlockSet written,
                           WrittenBlocks(store_, zone, machine.Window(zone), block_size_));
    areas_[zone] = {state.written, written};
    // Blocks of zeros that were flushed are durable too.
    const RandomWindow window = machine.Window(zone);
    for (std::uint64_t block = window.start; block < window.end(); ++block) {
      if (store_.LoadDurable(zone).Contains(block)) areas_[zone].written |= BitOf(block);
    }
  }
  Changed(zone, state);
  return {};
}

void VolatileCache::Changed(ZoneId zone, MachineZone state) {
  if (state.random_area) {
    Area& area = areas_[zone];
    area = {state.written, WithoutBelow(area.written, area.start, state.written)};
  } else {
    areas_.erase(zone);
  }
  NoteDirty(zone, state);
}

void VolatileCache::WroteArea(ZoneId zone, MachineZone state, std::uint64_t block, std::uint64_t count) {
  if (!state.random_area) return;  // lost meanwhile; the blocks are below the pointer
  Area& area = areas_[zone];
  for (std::uint64_t at = std::max(block, area.start); at < block + count; ++at) area.written |= BitOf(at);
  NoteDirty(zone, state);
}

Status VolatileCache::Reset(ZoneId zone) {
  ++incarnations_[zone.value];
  areas_.erase(zone);
  return store_.SaveDurable(zone, {});
}

DurableBlocks VolatileCache::Covered(ZoneId zone, MachineZone state) const {
  const auto area = areas_.find(zone);
  return {state.written, area == areas_.end() ? 0 : area->second.written};
}

void VolatileCache::NoteDirty(ZoneId zone, MachineZone state) {
  const DurableBlocks covered = Covered(zone, state);
  if (contains_[zone.value] || covered == DurableBlocks{} || covered == store_.LoadDurable(zone)) return;
  contains_[zone.value] = true;
  zones_.push_back(zone);
}

std::vector<VolatileCache::Mark> VolatileCache::BeginFlush(const ZoneMachine& machine) const {
  std::vector<Mark> marks;
  marks.reserve(zones_.size());
  for (const ZoneId zone : zones_)
    marks.push_back({zone, Covered(zone, machine.state(zone)), incarnations_[zone.value]});
  return marks;
}

Status VolatileCache::EndFlush(std::span<const Mark> marks, const ZoneMachine& machine) {
  for (const Mark& mark : marks) {
    if (mark.incarnation != incarnations_[mark.zone.value]) continue;
    // A flush that began later may have completed first.
    const DurableBlocks durable = store_.LoadDurable(mark.zone);
    if (mark.blocks.prefix < durable.prefix) continue;
    DurableBlocks blocks = mark.blocks;
    if (blocks.prefix == durable.prefix) blocks.area |= durable.area;
    if (blocks != durable) ZENFS_RETURN_IF_ERROR(store_.SaveDurable(mark.zone, blocks));
  }
  std::erase_if(zones_, [&](ZoneId zone) {
    if (store_.LoadDurable(zone) != Covered(zone, machine.state(zone))) return false;
    contains_[zone.value] = false;
    return true;
  });
  return {};
}

}  // namespace zenfs
