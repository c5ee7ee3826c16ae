#include "device/zone_info.h"

#include <algorithm>

namespace zenfs {

std::uint64_t ZoneInfo::WrittenBytes() const {
  switch (condition) {
    case ZoneCondition::kNotWritePointer:
    case ZoneCondition::kEmpty:
    case ZoneCondition::kOffline: return 0;
    case ZoneCondition::kFull:
    case ZoneCondition::kReadOnly: return capacity;
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed: return std::min(write_pointer - start, capacity);
  }
  return 0;
}

std::string_view ConditionName(ZoneCondition condition) {
  switch (condition) {
    case ZoneCondition::kNotWritePointer: return "no write pointer";
    case ZoneCondition::kEmpty: return "empty";
    case ZoneCondition::kImplicitlyOpen: return "implicitly open";
    case ZoneCondition::kExplicitlyOpen: return "explicitly open";
    case ZoneCondition::kClosed: return "closed";
    case ZoneCondition::kFull: return "full";
    case ZoneCondition::kReadOnly: return "read-only";
    case ZoneCondition::kOffline: return "offline";
  }
  return "unknown";
}

std::string_view TypeName(ZoneType type) {
  switch (type) {
    case ZoneType::kConventional: return "conventional";
    case ZoneType::kSequentialRequired: return "sequential write required";
    case ZoneType::kSequentialPreferred: return "sequential write preferred";
  }
  return "unknown";
}

}  // namespace zenfs
