#include "volume/log_zone_allocator.h"

#include "base/random.h"

namespace zenfs {

Result<LogZone> LogZoneAllocator::Allocate(ZoneId zone) {
  MutexLock lock(mutex_);
  const LogZone allocated{.zone = zone, .generation = next_generation_, .salt = RandomSeed()};
  ++next_generation_;  // not used again even if the commit fails: its outcome may be unknown
  ZENFS_RETURN_IF_ERROR(commits_.Commit({RaiseCounters{0, next_generation_}, AllocateLogZones{{allocated}}}));
  return allocated;
}

}  // namespace zenfs
