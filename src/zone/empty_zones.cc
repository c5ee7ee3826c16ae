#include "zone/empty_zones.h"

namespace zenfs {

ZoneId EmptyZones::Take() {
  ZENFS_ASSERT(!zones_.empty());
  const ZoneId zone = zones_.front();
  zones_.pop_front();
  return zone;
}

void EmptyZones::LogWaits(bool begins) {
  log_waits_ += begins ? 1 : -1;
  ZENFS_ASSERT(log_waits_ >= 0);
}

bool EmptyZones::Yield() {
  if (yielded_ || log_.least == log_.needs) return false;
  yielded_ = true;
  return true;
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
