#include "open/log_zone_allocator.h"

#include "base/random.h"

namespace zenfs {

Result<std::vector<LogZone>> LogZoneAllocator::Allocate(std::span<const ZoneId> zones) {
  MutexLock lock(mutex_);
  std::vector<LogZone> allocated;
  for (const ZoneId zone : zones)
    allocated.push_back({.zone = zone, .generation = next_generation_, .salt = RandomSeed()});
  ++next_generation_;  // not used again even if the commit fails: its outcome may be unknown
  ZENFS_RETURN_IF_ERROR(commits_.Commit({RaiseCounters{0, next_generation_}, AllocateLogZones{allocated}}));
  return allocated;
}

}  // namespace zenfs
