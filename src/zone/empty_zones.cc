#include "zone/empty_zones.h"

namespace zenfs {

ZoneId EmptyZones::Take() {
  ZENFS_ASSERT(!zones_.empty());
  const ZoneId zone = zones_.front();
  zones_.pop_front();
  return zone;
}

void EmptyZones::EndReset() {
  ZENFS_ASSERT(pending_resets_ != 0);
  --pending_resets_;
}

void EmptyZones::DiscountLogZone() {
  ZENFS_ASSERT(log_zones_ != 0);
  --log_zones_;
}

}  // namespace zenfs
