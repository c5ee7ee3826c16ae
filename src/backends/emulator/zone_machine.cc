#include "backends/emulator/zone_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"

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

std::unexpected<Error> Offline(ZoneId zone) {
  return Fail(Code::kNotFound, fmt::format("zone {} is offline", zone.value));
}
std::unexpected<Error> ReadOnly(ZoneId zone) {
  return Fail(Code::kReadOnly, fmt::format("zone {} is read-only", zone.value));
}
std::unexpected<Error> Invalid(std::string text) { return Fail(Code::kInvalidArgument, std::move(text)); }
std::unexpected<Error> BadTransition(std::string_view command, ZoneId zone, ZoneCondition condition) {
  return Invalid(fmt::format("{} of zone {}, which is {}", command, zone.value, ConditionName(condition)));
}

Status CheckZone(const EmulatorGeometry& geometry, ZoneId zone) {
  if (zone.value < geometry.zones) return {};
  return Invalid(fmt::format("zone {} of a device with {} zones", zone.value, geometry.zones));
}

void AddOnce(std::vector<ZoneId>& zones, ZoneId zone) {
  if (std::find(zones.begin(), zones.end(), zone) == zones.end()) zones.push_back(zone);
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

ZoneMachine::ZoneMachine(const EmulatorGeometry& geometry) : geometry_(geometry), zones_(geometry.zones) {
  for (std::uint32_t i = 0; i < geometry_.conventional; ++i) {
    zones_[i].state.condition = ZoneCondition::kNotWritePointer;
  }
}

Status ZoneMachine::Restore(ZoneId zone, MachineZone state) {
  ZENFS_RETURN_IF_ERROR(CheckZone(geometry_, zone));
  ZENFS_RETURN_IF_ERROR(CheckPossible(geometry_, zone, state));
  MachineZone& current = zones_[zone.value].state;
  counts_.Replace(current, state);
  current = state;
  changed_.assign(1, zone);
  return {};
}

RandomWindow ZoneMachine::Window(ZoneId zone) const {
  const MachineZone& state = zones_[zone.value].state;
  ZENFS_ASSERT(state.random_area);
  return {.start = state.written,
          .area = geometry_.random_area / geometry_.block_size,
          .unit = geometry_.random_unit / geometry_.block_size,
          .capacity = geometry_.blocks_of(zone)};
}

ZoneInfo ZoneMachine::Info(ZoneId zone) const {
  const MachineZone& state = zones_[zone.value].state;
  ZoneInfo info;
  info.id = zone;
  info.type = geometry_.is_conventional(zone) ? ZoneType::kConventional : ZoneType::kSequentialRequired;
  info.condition = state.condition;
  info.start = DeviceOffset(zone.value * geometry_.zone_size);
  info.capacity = geometry_.capacity_of(zone);
  info.random_area = state.random_area;
  switch (state.condition) {
    case ZoneCondition::kEmpty:
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed:
      info.write_pointer = info.start + state.written * geometry_.block_size;
      break;
    case ZoneCondition::kNotWritePointer:
    case ZoneCondition::kFull:
    case ZoneCondition::kReadOnly:
    case ZoneCondition::kOffline:
      // The pointer is undefined: report a value that nobody can use as a place to write or read
      // (device-assumptions 6).
      info.write_pointer = info.start + geometry_.zone_size;
      break;
  }
  return info;
}

Result<std::uint64_t> ZoneMachine::CheckRead(ZoneId zone, std::uint64_t block, std::uint64_t count) const {
  ZENFS_RETURN_IF_ERROR(CheckZone(geometry_, zone));
  const std::uint64_t capacity = geometry_.blocks_of(zone);
  if (count > capacity || block > capacity - count) {
    return Invalid(fmt::format("read of blocks {} to {} crosses the capacity of zone {}, {} blocks", block,
                               block + count, zone.value, capacity));
  }
  const MachineZone& state = zones_[zone.value].state;
  switch (state.condition) {
    case ZoneCondition::kNotWritePointer: return count;
    case ZoneCondition::kEmpty:
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed:
      if (state.random_area && block + count <= Window(zone).end()) return count;
      if (block + count > state.written) {
        return Invalid(fmt::format("read of blocks {} to {} passes the write pointer of zone {} at block {}",
                                   block, block + count, zone.value, state.written));
      }
      return count;
    case ZoneCondition::kFull:
    case ZoneCondition::kReadOnly: return std::min(count, state.written - std::min(block, state.written));
    case ZoneCondition::kOffline: return Offline(zone);
  }
  return count;
}

Status ZoneMachine::BeginWrite(ZoneId zone, std::uint64_t block, std::uint64_t count) {
  changed_.clear();
  ZENFS_RETURN_IF_ERROR(CheckZone(geometry_, zone));
  ZENFS_RETURN_IF_ERROR(CheckWritable(zone, block, count));
  if (geometry_.is_conventional(zone)) return {};
  ZENFS_RETURN_IF_ERROR(OpenImplicitly(zone));
  if (zones_[zone.value].state.random_area) MovePointer(zone, Window(zone).PointerAfterWrite(block + count));
  return {};
}

Result<std::uint64_t> ZoneMachine::BeginAppend(ZoneId zone, std::uint64_t count) {
  changed_.clear();
  ZENFS_RETURN_IF_ERROR(CheckZone(geometry_, zone));
  if (geometry_.is_conventional(zone)) {
    return Invalid(fmt::format("append to zone {}, which is conventional", zone.value));
  }
  if (zones_[zone.value].state.random_area) {
    return Invalid(fmt::format("append to zone {}, which has a random write area", zone.value));
  }
  const std::uint64_t block = zones_[zone.value].state.written;
  ZENFS_RETURN_IF_ERROR(CheckWritable(zone, block, count));
  ZENFS_RETURN_IF_ERROR(OpenImplicitly(zone));
  return block;
}

void ZoneMachine::CommitWrite(ZoneId zone, std::uint64_t block, std::uint64_t count) {
  changed_.clear();
  ZENFS_ASSERT(zone.value < geometry_.zones && block + count <= geometry_.blocks_of(zone));
  if (geometry_.is_conventional(zone)) return;
  Zone& z = zones_[zone.value];
  z.last_written = ++tick_;
  // A random write area ends behind the block, because BeginWrite moved the pointer. If the zone failed since, so did the
  // pointer move behind the area.
  if (!z.state.random_area) MovePointer(zone, std::max(z.state.written, block + count));
}

// The zone may have lost its open slot since BeginWrite. It is then closed, and its pointer moves in
// the same way. A zone that failed meanwhile stays failed.
void ZoneMachine::MovePointer(ZoneId zone, std::uint64_t written) {
  MachineZone& state = zones_[zone.value].state;
  ZENFS_ASSERT(written >= state.written && written <= geometry_.blocks_of(zone));
  if (written == state.written) return;
  state.written = written;
  AddOnce(changed_, zone);
  if (written == geometry_.blocks_of(zone) && IsActive(state.condition)) Set(zone, ZoneCondition::kFull);
}

Status ZoneMachine::Reset(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(BeginManagement(zone));
  Zone& z = zones_[zone.value];
  switch (z.state.condition) {
    case ZoneCondition::kEmpty: return {};
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed:
    case ZoneCondition::kFull:
      Set(zone, ZoneCondition::kEmpty);
      z.state.written = 0;
      return {};
    case ZoneCondition::kReadOnly: return ReadOnly(zone);
    case ZoneCondition::kOffline: return Offline(zone);
    case ZoneCondition::kNotWritePointer: break;  // refused by BeginManagement
  }
  return BadTransition("reset", zone, z.state.condition);
}

Status ZoneMachine::Finish(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(BeginManagement(zone));
  const ZoneCondition condition = zones_[zone.value].state.condition;
  switch (condition) {
    case ZoneCondition::kFull: return {};
    case ZoneCondition::kEmpty:
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed: Set(zone, ZoneCondition::kFull); return {};
    case ZoneCondition::kReadOnly: return ReadOnly(zone);
    case ZoneCondition::kOffline: return Offline(zone);
    case ZoneCondition::kNotWritePointer: break;
  }
  return BadTransition("finish", zone, condition);
}

Status ZoneMachine::Open(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(BeginManagement(zone));
  const ZoneCondition condition = zones_[zone.value].state.condition;
  switch (condition) {
    case ZoneCondition::kExplicitlyOpen: return {};
    case ZoneCondition::kImplicitlyOpen: Set(zone, ZoneCondition::kExplicitlyOpen); return {};
    case ZoneCondition::kEmpty:
    case ZoneCondition::kClosed:
      ZENFS_RETURN_IF_ERROR(TakeOpenSlot(zone));
      Set(zone, ZoneCondition::kExplicitlyOpen);
      return {};
    case ZoneCondition::kFull: return BadTransition("open", zone, condition);
    case ZoneCondition::kReadOnly: return ReadOnly(zone);
    case ZoneCondition::kOffline: return Offline(zone);
    case ZoneCondition::kNotWritePointer: break;
  }
  return BadTransition("open", zone, condition);
}

Status ZoneMachine::Close(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(BeginManagement(zone));
  const ZoneCondition condition = zones_[zone.value].state.condition;
  switch (condition) {
    case ZoneCondition::kClosed: return {};
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen: Set(zone, ZoneCondition::kClosed); return {};
    case ZoneCondition::kEmpty:
    case ZoneCondition::kFull: return BadTransition("close", zone, condition);
    case ZoneCondition::kReadOnly: return ReadOnly(zone);
    case ZoneCondition::kOffline: return Offline(zone);
    case ZoneCondition::kNotWritePointer: break;
  }
  return BadTransition("close", zone, condition);
}

Status ZoneMachine::OpenRandom(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(BeginManagement(zone));
  if (geometry_.random_area == 0) {
    return Fail(Code::kNotSupported, "the zones of this device have no random write area");
  }
  const ZoneCondition condition = zones_[zone.value].state.condition;
  if (condition == ZoneCondition::kReadOnly) return ReadOnly(zone);
  if (condition == ZoneCondition::kOffline) return Offline(zone);
  if (condition != ZoneCondition::kEmpty) return BadTransition("random open", zone, condition);
  if (counts_.random_areas() >= geometry_.random_zones) {
    return Fail(Code::kBusy,
                fmt::format("zone {} can't get a random write area: {} zones have one, the device's limit",
                            zone.value, geometry_.random_zones));
  }
  ZENFS_RETURN_IF_ERROR(TakeOpenSlot(zone));
  Set(zone, ZoneCondition::kExplicitlyOpen);
  MachineZone& state = zones_[zone.value].state;
  counts_.Replace(state, {state.condition, state.written, true});
  state.random_area = true;
  return {};
}

Status ZoneMachine::CommitRandom(ZoneId zone, std::uint64_t block) {
  ZENFS_RETURN_IF_ERROR(BeginManagement(zone));
  const ZoneCondition condition = zones_[zone.value].state.condition;
  if (condition == ZoneCondition::kReadOnly) return ReadOnly(zone);
  if (condition == ZoneCondition::kOffline) return Offline(zone);
  if (!zones_[zone.value].state.random_area) return BadTransition("commit without an area", zone, condition);
  const RandomWindow window = Window(zone);
  if (!window.TakesCommit(block)) {
    return Invalid(
        fmt::format("commit up to block {} of zone {}, whose random write area is from block {} to {}, "
                    "in units of {} blocks",
                    block, zone.value, window.start, window.end(), window.unit));
  }
  ZENFS_RETURN_IF_ERROR(OpenImplicitly(zone));
  MovePointer(zone, block);
  return {};
}

Status ZoneMachine::SetCondition(ZoneId zone, ZoneCondition condition) {
  ZENFS_RETURN_IF_ERROR(BeginManagement(zone));
  switch (condition) {
    case ZoneCondition::kFull:
    case ZoneCondition::kReadOnly:
    case ZoneCondition::kOffline: Set(zone, condition); return {};
    case ZoneCondition::kNotWritePointer:
    case ZoneCondition::kEmpty:
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed: break;
  }
  return Invalid(
      fmt::format("a device does not make zone {} {} by itself", zone.value, ConditionName(condition)));
}

// Called at the start of every zone management command.
Status ZoneMachine::BeginManagement(ZoneId zone) {
  changed_.clear();
  ZENFS_RETURN_IF_ERROR(CheckZone(geometry_, zone));
  if (!geometry_.is_conventional(zone)) return {};
  return Invalid(
      fmt::format("zone {} is conventional: it can't be reset, finished, opened or closed", zone.value));
}

Status ZoneMachine::CheckWritable(ZoneId zone, std::uint64_t block, std::uint64_t count) const {
  if (count == 0) return Invalid(fmt::format("write of 0 bytes to zone {}", zone.value));
  const std::uint64_t capacity = geometry_.blocks_of(zone);
  const MachineZone& state = zones_[zone.value].state;
  switch (state.condition) {
    case ZoneCondition::kNotWritePointer: break;
    case ZoneCondition::kFull: return Fail(Code::kZoneFull, fmt::format("zone {} is full", zone.value));
    case ZoneCondition::kReadOnly: return ReadOnly(zone);
    case ZoneCondition::kOffline: return Offline(zone);
    case ZoneCondition::kEmpty:
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed:
      if (block == state.written && !state.random_area) break;
      if (state.random_area) {
        const RandomWindow window = Window(zone);
        if (block + count > capacity || window.TakesWrite(block, block + count)) break;
        return Invalid(
            fmt::format("write of blocks {} to {} of zone {}, whose random write area takes blocks {} to {}",
                        block, block + count, zone.value, window.start, window.start + 2 * window.area));
      }
      return Invalid(fmt::format("write at block {} of zone {}, whose write pointer is at block {}", block,
                                 zone.value, state.written));
  }
  if (count > capacity || block > capacity - count) {
    return Fail(Code::kZoneFull,
                fmt::format("{} blocks at block {} do not fit in zone {}, capacity {} blocks", count, block,
                            zone.value, capacity));
  }
  return {};
}

// Takes an open slot and, for an empty zone, an active one. If all open slots are taken, takes that
// of an implicitly open zone. The caller then sets the condition.
Status ZoneMachine::TakeOpenSlot(ZoneId zone) {
  const bool needs_active = zones_[zone.value].state.condition == ZoneCondition::kEmpty;
  if (needs_active && geometry_.max_active != 0 && counts_.active() >= geometry_.max_active) {
    return Fail(Code::kBusy, fmt::format("zone {} can't be opened: {} zones are active, the device's limit",
                                         zone.value, geometry_.max_active));
  }
  if (geometry_.max_open == 0 || counts_.open() < geometry_.max_open) return {};
  if (counts_.implicitly_open() == 0) {
    return Fail(Code::kBusy,
                fmt::format("zone {} can't be opened: {} zones are explicitly open, the device's limit",
                            zone.value, geometry_.max_open));
  }
  const Zone* oldest = nullptr;
  for (const Zone& z : zones_) {
    if (z.state.condition != ZoneCondition::kImplicitlyOpen) continue;
    if (oldest == nullptr || z.last_written < oldest->last_written) oldest = &z;
  }
  Set(ZoneId(static_cast<std::uint32_t>(oldest - zones_.data())), ZoneCondition::kClosed);
  return {};
}

Status ZoneMachine::OpenImplicitly(ZoneId zone) {
  if (IsOpen(zones_[zone.value].state.condition)) return {};
  ZENFS_RETURN_IF_ERROR(TakeOpenSlot(zone));
  Set(zone, ZoneCondition::kImplicitlyOpen);
  zones_[zone.value].last_written = ++tick_;
  return {};
}

void ZoneMachine::Set(ZoneId zone, ZoneCondition condition) {
  MachineZone& state = zones_[zone.value].state;
  MachineZone after = state;
  after.condition = condition;
  if (state.random_area && !IsActive(condition)) {
    after.written = Window(zone).end();
    after.random_area = false;
  }
  counts_.Replace(state, after);
  state = after;
  AddOnce(changed_, zone);
}

}  // namespace zenfs
