// Random commands against the invariants in zone_machine.h.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "backends/emulator/emulated_file.h"
#include "backends/emulator/zone_machine.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kZones = 9;
constexpr std::uint64_t kCapacity = 7;  // blocks
constexpr std::uint64_t kArea = 4;      // blocks
constexpr std::uint64_t kUnit = 2;      // blocks

EmulatorGeometry AnyGeometry() {
  const auto max_open = *rc::gen::inRange<std::uint32_t>(0, 4);
  const auto areas = *rc::gen::arbitrary<bool>();
  const auto more = *rc::gen::inRange<std::uint32_t>(0, 3);
  return {.zones = kZones,
          .zone_size = 8 * 512,
          .zone_capacity = kCapacity * 512,
          .max_open = max_open,
          .max_active = max_open == 0 || more == 2 ? 0 : max_open + more,
          .conventional = *rc::gen::inRange<std::uint32_t>(0, 2),
          .block_size = 512,
          .random_area = areas ? kArea * 512 : 0,
          .random_unit = areas ? kUnit * 512 : 0,
          .random_zones = areas ? *rc::gen::inRange<std::uint32_t>(1, 3) : 0};
}

Status Write(ZoneMachine& machine, ZoneId zone, std::uint64_t block, std::uint64_t count) {
  ZENFS_RETURN_IF_ERROR(machine.BeginWrite(zone, block, count));
  machine.CommitWrite(zone, block, count);
  return {};
}

Status RandomCommand(ZoneMachine& machine, ZoneId zone) {
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 4);
  switch (*rc::gen::inRange(0, 14)) {
    case 0: return machine.Reset(zone);
    case 1: return machine.Finish(zone);
    case 2:
    case 3: return machine.Open(zone);
    case 4: return machine.Close(zone);
    case 5: return Write(machine, zone, *rc::gen::inRange<std::uint64_t>(0, kCapacity), count);
    case 6: {
      const auto block = machine.BeginAppend(zone, count);
      if (!block) return Fail(block.error());
      RC_ASSERT(*block == machine.state(zone).written);
      machine.CommitWrite(zone, *block, count);
      return {};
    }
    case 7:
    case 8: return machine.OpenRandom(zone);
    case 9: return machine.CommitRandom(zone, *rc::gen::inRange<std::uint64_t>(0, kCapacity + 2));
    default: return Write(machine, zone, machine.state(zone).written, count);
  }
}

// What a write to a zone with a random write area must do, stated without the machine's arithmetic: the pointer moves as
// little as possible, by units, so that the write ends inside of the area.
void CheckAreaWrite(ZoneMachine machine, ZoneId zone) {
  const MachineZone before = machine.state(zone);
  const auto block = *rc::gen::inRange<std::uint64_t>(0, kCapacity + 1);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 2 * kArea + 2);
  const std::uint64_t end = block + count;
  const bool allowed = block >= before.written && end <= before.written + 2 * kArea && end <= kCapacity;
  RC_ASSERT(Write(machine, zone, block, count).ok() == allowed);
  if (!allowed) return;
  std::uint64_t pointer = before.written;
  while (end > pointer + kArea) pointer += kUnit;
  RC_ASSERT(machine.state(zone).written == pointer);
  RC_ASSERT(machine.state(zone).random_area);
  RC_ASSERT(machine.CheckRead(zone, 0, end).value() == end);
}

void CheckInvariants(const ZoneMachine& machine, const EmulatorGeometry& geometry) {
  std::uint32_t open = 0;
  std::uint32_t active = 0;
  std::uint32_t random = 0;
  for (std::uint32_t i = 0; i < kZones; ++i) {
    const MachineZone state = machine.state(ZoneId(i));
    open += IsOpen(state.condition) ? 1 : 0;
    active += IsActive(state.condition) ? 1 : 0;
    random += state.random_area ? 1 : 0;
    if (state.random_area) {
      RC_ASSERT(IsActive(state.condition));
      RC_ASSERT(state.written % kUnit == 0u);
    }
    RC_ASSERT(state.written <= kCapacity);
    if (state.condition == ZoneCondition::kEmpty) RC_ASSERT(state.written == 0u);
    if (IsActive(state.condition)) RC_ASSERT(state.written < kCapacity);
    RC_ASSERT((state.condition == ZoneCondition::kNotWritePointer) == (i < geometry.conventional));
    RC_ASSERT(UnpackZone(PackZone(state)) == state);
    const ZoneInfo info = machine.Info(ZoneId(i));
    RC_ASSERT(info.WrittenBytes() <= info.capacity);
  }
  RC_ASSERT(open == machine.counts().open());
  RC_ASSERT(active == machine.counts().active());
  RC_ASSERT(random == machine.counts().random_areas());
  RC_ASSERT(random <= geometry.random_zones);
  if (geometry.max_open != 0) RC_ASSERT(open <= geometry.max_open);
  if (geometry.max_active != 0) RC_ASSERT(active <= geometry.max_active);
}

RC_GTEST_PROP(ZoneMachineProperty, LimitsHoldAndCountsMatch, ()) {
  const EmulatorGeometry geometry = AnyGeometry();
  RC_PRE(Validate(geometry).ok());
  ZoneMachine machine(geometry);
  const auto steps = *rc::gen::inRange(1, 120);
  for (int step = 0; step < steps; ++step) {
    const ZoneId zone(*rc::gen::inRange<std::uint32_t>(0, kZones));
    const ZoneMachine before = machine;
    const Status status = RandomCommand(machine, zone);
    CheckInvariants(machine, geometry);
    const bool writable = geometry.max_open == 0 || IsOpen(machine.state(zone).condition);
    if (machine.state(zone).random_area && writable) CheckAreaWrite(machine, zone);
    for (std::uint32_t i = 0; i < kZones; ++i) {
      const bool changed = !(machine.state(ZoneId(i)) == before.state(ZoneId(i)));
      if (!status.ok()) RC_ASSERT(!changed);  // a failed command changes nothing
      // Another zone changes only if it loses its open slot.
      if (changed && ZoneId(i) != zone)
        RC_ASSERT(machine.state(ZoneId(i)).condition == ZoneCondition::kClosed);
    }
  }
}

}  // namespace
}  // namespace zenfs
