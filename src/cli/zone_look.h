// How all drawings of zones show a zone: its contents, their colours and letters, and the names of
// states.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "zone/zone_manager.h"

namespace zenfs {

// Kinds of parts of a zone. The first kLifetimeCount are live data by lifetime, in the order of
// Lifetime.
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
  std::string_view dark;    // for SVG, on a dark background
  std::string_view meaning;
};
[[nodiscard]] const ZoneInk& InkOf(ZoneContent content);

// The kind of the whole zone if ZenFS does not use it, written or not. Nothing for zones in use.
[[nodiscard]] std::optional<ZoneContent> WholeContent(const ZoneStatus& zone);
// The kind of the live part of `zone`.
[[nodiscard]] ZoneContent LiveContent(const ZoneStatus& zone);
// Number of bytes to draw as live.
[[nodiscard]] std::uint64_t LiveBytes(const ZoneStatus& zone);

// ' ' for an empty zone.
[[nodiscard]] char PhaseLetter(ZonePhase phase);
inline constexpr std::array kPhasesInOrder = {
    ZonePhase::kMetadata, ZonePhase::kLog,          ZonePhase::kEmpty,
    ZonePhase::kActive,   ZonePhase::kFull,         ZonePhase::kDead,
    ZonePhase::kRetired,  ZonePhase::kConventional, ZonePhase::kUnusable};

}  // namespace zenfs
