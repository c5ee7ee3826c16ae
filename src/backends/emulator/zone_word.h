// The state of a zone in one word. One store changes it, so the death of a process cannot leave
// half of a change. Part of the format of emulated files (docs/formats/emulated-device.md).
//
//   bits 0..3   condition, in the numbers of the NVMe ZNS specification (conventional: 0)
//   bit  4      has a random write area: open and closed zones only
//   bits 5..7   zero
//   bits 8..63  blocks written
#pragma once

#include <cstdint>
#include <optional>

#include "backends/emulator/zone_state.h"

namespace zenfs {

inline constexpr std::uint64_t kRandomAreaBit = 0x10;

constexpr std::uint64_t PackZone(MachineZone state) {
  std::uint64_t code = 0;
  switch (state.condition) {
    case ZoneCondition::kNotWritePointer: code = 0x0; break;
    case ZoneCondition::kEmpty: code = 0x1; break;
    case ZoneCondition::kImplicitlyOpen: code = 0x2; break;
    case ZoneCondition::kExplicitlyOpen: code = 0x3; break;
    case ZoneCondition::kClosed: code = 0x4; break;
    case ZoneCondition::kReadOnly: code = 0xd; break;
    case ZoneCondition::kFull: code = 0xe; break;
    case ZoneCondition::kOffline: code = 0xf; break;
  }
  return state.written << 8 | (state.random_area ? kRandomAreaBit : 0) | code;
}

// Returns nothing for a word with an unknown condition.
constexpr std::optional<MachineZone> UnpackZone(std::uint64_t word) {
  const std::uint64_t written = word >> 8;
  switch (word & 0xff) {
    case 0x0: return MachineZone{ZoneCondition::kNotWritePointer, written};
    case 0x1: return MachineZone{ZoneCondition::kEmpty, written};
    case 0x2: return MachineZone{ZoneCondition::kImplicitlyOpen, written};
    case 0x3: return MachineZone{ZoneCondition::kExplicitlyOpen, written};
    case 0x4: return MachineZone{ZoneCondition::kClosed, written};
    case 0x12: return MachineZone{ZoneCondition::kImplicitlyOpen, written, true};
    case 0x13: return MachineZone{ZoneCondition::kExplicitlyOpen, written, true};
    case 0x14: return MachineZone{ZoneCondition::kClosed, written, true};
    case 0xd: return MachineZone{ZoneCondition::kReadOnly, written};
    case 0xe: return MachineZone{ZoneCondition::kFull, written};
    case 0xf: return MachineZone{ZoneCondition::kOffline, written};
    default: return std::nullopt;
  }
}

static_assert(PackZone({ZoneCondition::kEmpty, 0}) == 0x1);
static_assert(PackZone({ZoneCondition::kClosed, 3}) == 0x304);
static_assert(UnpackZone(0x1230e) == MachineZone{ZoneCondition::kFull, 0x123});
static_assert(PackZone({ZoneCondition::kClosed, 4, true}) == 0x414);
static_assert(UnpackZone(0x413) == MachineZone{ZoneCondition::kExplicitlyOpen, 4, true});
static_assert(!UnpackZone(0x5));
static_assert(!UnpackZone(0x1e));

}  // namespace zenfs
