#include "backends/emulator/zone_state.h"

#include <fmt/format.h>

namespace zenfs {
namespace {

bool HasPossiblePointer(MachineZone state, std::uint64_t capacity) {
  switch (state.condition) {
    case ZoneCondition::kNotWritePointer:
    case ZoneCondition::kEmpty: return state.written == 0;
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed: return state.written < capacity;
    case ZoneCondition::kFull:
    case ZoneCondition::kReadOnly:
    case ZoneCondition::kOffline: return state.written <= capacity;
  }
  return false;
}

bool HasPossibleArea(const EmulatorGeometry& geometry, MachineZone state) {
  if (!state.random_area) return true;
  return geometry.random_area != 0 && IsActive(state.condition) &&
         state.written % (geometry.random_unit / geometry.block_size) == 0;
}

}  // namespace

Status CheckPossible(const EmulatorGeometry& geometry, ZoneId zone, MachineZone state) {
  const std::uint64_t capacity = geometry.capacity_of(zone) / geometry.block_size;
  const bool conventional = geometry.is_conventional(zone);
  if (HasPossiblePointer(state, capacity) && HasPossibleArea(geometry, state) &&
      conventional == (state.condition == ZoneCondition::kNotWritePointer)) {
    return {};
  }
  return Fail(Code::kCorruption,
              fmt::format("zone {}{} can't be {} with {} of {} blocks written{}", zone.value,
                          conventional ? " (conventional)" : "", ConditionName(state.condition),
                          state.written, capacity, state.random_area ? " and a random write area" : ""));
}

}  // namespace zenfs
