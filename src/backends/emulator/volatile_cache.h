// Tracks the volatile cache of a device: which zones have blocks that no flush has made durable, also in their random write areas, so
// that a flush looks only at these zones; and the incarnation of each zone, so that a flush that
// began before a reset makes nothing after it durable.
//
// Threads: not thread-safe; the caller locks. Flushes may overlap: each covers all blocks that were
// written when it began, also those of an earlier flush that has not ended.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "backends/emulator/store.h"
#include "backends/emulator/zone_machine.h"

namespace zenfs {

class VolatileCache {
 public:
  // The blocks of a zone that a flush covers, in its present incarnation, which ends at the next
  // reset.
  struct Mark {
    ZoneId zone;
    DurableBlocks blocks;
    std::uint64_t incarnation;
  };

  // Errors are those of the store. The store records the durable blocks, and outlives this.
  VolatileCache(Store& store, const EmulatorGeometry& geometry)
      : store_(store),
        block_size_(geometry.block_size),
        contains_(geometry.zones),
        incarnations_(geometry.zones) {}

  // The state of the zone was found when the device was opened.
  [[nodiscard]] Status Found(ZoneId zone, const ZoneMachine& machine);
  // The state of the zone has changed, for example by a completed write.
  void Changed(ZoneId zone, MachineZone state);
  // These blocks of a zone were written, which is in `state` now and had a random write area.
  void WroteArea(ZoneId zone, MachineZone state, std::uint64_t block, std::uint64_t count);
  // Call it after the saved state says that the zone is empty.
  [[nodiscard]] Status Reset(ZoneId zone);

  [[nodiscard]] std::vector<Mark> BeginFlush(const ZoneMachine& machine) const;
  [[nodiscard]] Status EndFlush(std::span<const Mark> marks, const ZoneMachine& machine);

 private:
  // The written blocks of a random write area, from its start on.
  struct Area {
    std::uint64_t start = 0;
    BlockSet written = 0;
  };

  // What a flush that begins now makes durable.
  DurableBlocks Covered(ZoneId zone, MachineZone state) const;
  void NoteDirty(ZoneId zone, MachineZone state);

  Store& store_;
  const std::uint32_t block_size_;
  std::vector<ZoneId> zones_;  // with more written than durable blocks; some may have been reset since
  std::vector<bool> contains_;
  std::vector<std::uint64_t> incarnations_;
  std::map<ZoneId, Area> areas_;  // of the zones that have one
};

// Finds the blocks of a random write area that were written, from their content: a device that is opened again does not
// know them. A block of zeros counts as not written: it reads the same either way.
// Requires an area of at most kBlockSetSize blocks. The set begins at the start of the window.
[[nodiscard]] Result<BlockSet> WrittenBlocks(Store& store, ZoneId zone, const RandomWindow& window,
                                             std::uint32_t block_size);

}  // namespace zenfs
