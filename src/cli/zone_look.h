// What there is to see of a zone, for every picture of zones: its contents, how each is drawn, and what a state is called.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "zone/zone_manager.h"

namespace zenfs {

// What part of a zone may be. The first kLifetimeCount are live data by lifetime, in the order of Lifetime.
enum class ZoneContent : std::uint8_t {
  kNotSet,
  kNone,
  kShort,
  kMedium,
  kLong,
  kExtreme,
  kLog,
  kMetadata,
  kDead,
  kUnwritten,
  kConventional,
  kUnusable,
};
inline constexpr std::size_t kZoneContentCount = 12;
static_assert(static_cast<std::size_t>(ZoneContent::kLog) == kLifetimeCount);

struct ZoneInk {
  char letter;              // for plain output
  std::string_view colour;  // for terminals, SGR parameters
  std::string_view light;   // for SVG, on a light background
  std::string_view dark;    // and on a dark one
  std::string_view meaning;
};
[[nodiscard]] const ZoneInk& InkOf(ZoneContent content);

// What all of `zone` is, written or not: a zone that ZenFS does not use. Nothing for those it does.
[[nodiscard]] std::optional<ZoneContent> WholeContent(const ZoneStatus& zone);
// What the live part of `zone` is.
[[nodiscard]] ZoneContent LiveContent(const ZoneStatus& zone);
// Bytes to draw as live.
[[nodiscard]] std::uint64_t LiveBytes(const ZoneStatus& zone);

// ' ' for an empty zone.
[[nodiscard]] char PhaseLetter(ZonePhase phase);
inline constexpr std::array kPhasesInOrder = {
    ZonePhase::kMetadata, ZonePhase::kLog,          ZonePhase::kEmpty,
    ZonePhase::kActive,   ZonePhase::kFull,         ZonePhase::kDead,
    ZonePhase::kRetired,  ZonePhase::kConventional, ZonePhase::kUnusable};

}  // namespace zenfs
