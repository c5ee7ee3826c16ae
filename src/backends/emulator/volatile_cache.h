// What a device with a volatile cache knows of its cache: which zones have blocks that no flush has made durable, so that a
// flush looks at these alone, and which life of a zone a flush began in, so that it does not speak for a later one.
//
// Threads: none of its own; the caller locks. Flushes may overlap: each covers all that was written when it began, also
// what one before it has not ended with.
#pragma once

#include <span>
#include <vector>

#include "backends/emulator/store.h"

namespace zenfs {

class VolatileCache {
 public:
  // What a flush covers of a zone: so many blocks of its present life, which the next reset ends.
  struct Mark {
    ZoneId zone;
    std::uint64_t blocks;
    std::uint64_t life;
  };

  // Errors are the store's. The store keeps count of durable blocks, and outlives this.
  VolatileCache(Store& store, std::uint32_t zones) : store_(store), contains_(zones), lives_(zones) {}

  // So many blocks are written in the zone, found at the opening of the device or by a write that is complete.
  void Wrote(ZoneId zone, std::uint64_t written);
  // Its word says that it is empty.
  [[nodiscard]] Status Reset(ZoneId zone);

  [[nodiscard]] std::vector<Mark> BeginFlush(const ZoneMachine& machine) const;
  [[nodiscard]] Status EndFlush(std::span<const Mark> marks, const ZoneMachine& machine);

 private:
  Store& store_;
  std::vector<ZoneId> zones_;  // that have more written than durable, and some that were reset since
  std::vector<bool> contains_;
  std::vector<std::uint64_t> lives_;
};

}  // namespace zenfs
