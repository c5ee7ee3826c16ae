#include "backends/block/kernel_zone.h"

#include <linux/blkzoned.h>

namespace zenfs {
namespace {

ZoneType TypeOf(unsigned type) {
  switch (type) {
    case BLK_ZONE_TYPE_CONVENTIONAL: return ZoneType::kConventional;
    case BLK_ZONE_TYPE_SEQWRITE_REQ: return ZoneType::kSequentialRequired;
    default: return ZoneType::kSequentialPreferred;
  }
}

ZoneCondition ConditionOf(unsigned condition) {
  switch (condition) {
    case BLK_ZONE_COND_NOT_WP: return ZoneCondition::kNotWritePointer;
    case BLK_ZONE_COND_EMPTY: return ZoneCondition::kEmpty;
    case BLK_ZONE_COND_IMP_OPEN: return ZoneCondition::kImplicitlyOpen;
    case BLK_ZONE_COND_EXP_OPEN: return ZoneCondition::kExplicitlyOpen;
    case BLK_ZONE_COND_CLOSED: return ZoneCondition::kClosed;
    case BLK_ZONE_COND_FULL: return ZoneCondition::kFull;
    case BLK_ZONE_COND_READONLY: return ZoneCondition::kReadOnly;
    default: return ZoneCondition::kOffline;
  }
}

}  // namespace

ReportedZone FromKernel(const KernelZone& zone) {
  return {.info = {.type = TypeOf(zone.type),
                   .condition = ConditionOf(zone.condition),
                   .start = DeviceOffset(zone.start),
                   .capacity = zone.capacity,
                   .write_pointer = DeviceOffset(zone.write_pointer),
                   .random_area = zone.random_area},
          .length = zone.length};
}

}  // namespace zenfs
