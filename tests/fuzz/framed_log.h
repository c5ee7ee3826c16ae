// The tiny device whose log zones the target `framed` scans, shared with the code that writes its
// seeds.
#pragma once

#include "format/edit_codec.h"
#include "model/state.h"
#include "zone_script.h"

namespace zenfs {

inline constexpr std::uint32_t kLogZones = 4;

inline EmulatorGeometry FramedGeometry() {
  return {.zones = kLogZones, .zone_size = 32 << 10, .max_open = 0, .max_active = 0, .block_size = 512};
}

inline Uuid FramedVolume() { return *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef"); }

// Applies commits (entries for the target) to `state`, and seals frames accordingly.
inline ZoneScript FramedScript(State& state) {
  return {.first_byte = 0,
          .block_size = FramedGeometry().block_size,
          .capacity = FramedGeometry().zone_size,
          .first_zone = 0,
          .end_zone = kLogZones,
          .seed =
              [&state](ZoneId zone, const FrameHeader&, ByteView) {
                const auto found = state.log_zones().find(zone);
                if (found == state.log_zones().end()) return FrameSeed{};
                return FrameSeed::Of(FramedVolume(), zone, found->second.generation, found->second.salt);
              },
          .for_target =
              [&state](ByteView bytes) {
                const auto edits = DecodeEdits(bytes);
                State next = state;
                if (edits && next.Apply(*edits).ok()) state = std::move(next);
              }};
}

}  // namespace zenfs
