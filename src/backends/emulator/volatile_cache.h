// Tracks the volatile cache of a device: which zones have blocks that no flush has made durable, so
// that a flush looks only at these zones; and the incarnation of each zone, so that a flush that
// began before a reset makes nothing after it durable.
//
// Threads: not thread-safe; the caller locks. Flushes may overlap: each covers all blocks that were
// written when it began, also those of an earlier flush that has not ended.
#pragma once

#include <span>
#include <vector>

#include "backends/emulator/store.h"

namespace zenfs {

class VolatileCache {
 public:
  // The blocks of a zone that a flush covers, in its present incarnation, which ends at the next
  // reset.
  struct Mark {
    ZoneId zone;
    std::uint64_t blocks;
    std::uint64_t incarnation;
  };

  // Errors are those of the store. The store records the durable blocks, and outlives this.
  VolatileCache(Store& store, std::uint32_t zones) : store_(store), contains_(zones), incarnations_(zones) {}

  // The zone has this many written blocks: found when the device is opened, or after a completed
  // write.
  void Wrote(ZoneId zone, std::uint64_t written);
  // Call it after the saved state says that the zone is empty.
  [[nodiscard]] Status Reset(ZoneId zone);

  [[nodiscard]] std::vector<Mark> BeginFlush(const ZoneMachine& machine) const;
  [[nodiscard]] Status EndFlush(std::span<const Mark> marks, const ZoneMachine& machine);

 private:
  Store& store_;
  std::vector<ZoneId> zones_;  // with more written than durable blocks; some may have been reset since
  std::vector<bool> contains_;
  std::vector<std::uint64_t> incarnations_;
};

}  // namespace zenfs
