#include "cli/zone_look.h"

#include <algorithm>

namespace zenfs {
namespace {

constexpr std::array<ZoneInk, kZoneContentCount> kInks = {{
    {'o', "37", "#8390a2", "#94a1b3", "no lifetime given"},
    {'n', "36", "#1f9e9e", "#2fb8b3", "lifetime none"},
    {'s', "31", "#d94f3d", "#ef6a57", "short"},
    {'m', "33", "#e39b2d", "#f0b24c", "medium"},
    {'l', "32", "#3c9a5f", "#55b87a", "long"},
    {'e', "34", "#3b6fd4", "#6a97f0", "extreme"},
    {'W', "96", "#17a8d6", "#3cc3ee", "log frames"},
    {'M', "35", "#8e57c9", "#ad7fe3", "metadata"},
    {'-', "90", "#b9c1cb", "#535f6e", "dead bytes"},
    {'.', "90", "#edf0f4", "#222a35", "not written"},
    {'c', "90", "#d3d9e0", "#3a4452", "conventional, not used"},
    {'x', "91", "#7a1f1f", "#7a2f2f", "unusable"},
}};

}  // namespace

const ZoneInk& InkOf(ZoneContent content) { return kInks[static_cast<std::size_t>(content)]; }

std::optional<ZoneContent> WholeContent(const ZoneStatus& zone) {
  if (zone.phase == ZonePhase::kConventional) return ZoneContent::kConventional;
  if (zone.phase == ZonePhase::kUnusable) return ZoneContent::kUnusable;
  return std::nullopt;
}

ZoneContent LiveContent(const ZoneStatus& zone) {
  if (zone.phase == ZonePhase::kMetadata) return ZoneContent::kMetadata;
  if (zone.phase == ZonePhase::kLog) return ZoneContent::kLog;
  return static_cast<ZoneContent>(
      std::min<std::size_t>(static_cast<std::size_t>(zone.lifetime), kLifetimeCount - 1));
}

std::uint64_t LiveBytes(const ZoneStatus& zone) { return std::min(zone.live, zone.written); }

char PhaseLetter(ZonePhase phase) {
  switch (phase) {
    case ZonePhase::kUnusable: return 'x';
    case ZonePhase::kConventional: return 'C';
    case ZonePhase::kMetadata: return 'M';
    case ZonePhase::kLog: return 'L';
    case ZonePhase::kEmpty: return ' ';
    case ZonePhase::kActive: return 'A';
    case ZonePhase::kFull: return 'F';
    case ZonePhase::kDead: return 'D';
    case ZonePhase::kRetired: return 'R';
  }
  return '?';
}

}  // namespace zenfs
