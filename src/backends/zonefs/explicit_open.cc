#include "backends/zonefs/explicit_open.h"

namespace zenfs {
namespace {

std::optional<ZoneId> EmptyZone(const ZoneFiles& files) {
  for (std::uint32_t i = 0; i < files.count(); ++i) {
    const Result<ZoneFileState> state = files.Look(ZoneId(i));
    if (state && state->access == ZoneAccess::kWritable && state->size == 0) return ZoneId(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<bool> IsExplicitOpen(const ZoneFiles& files, const ActiveCount& active,
                                   std::uint32_t max_active) {
  const std::optional<std::uint32_t> before = active();
  if (!before || (max_active != 0 && *before >= max_active)) return std::nullopt;
  const std::optional<ZoneId> zone = EmptyZone(files);
  if (!zone) return std::nullopt;
  const Result<UniqueFd> fd = files.OpenToWrite(*zone);
  if (!fd) {
    // Only an open that also opens the zone can exceed a limit.
    if (fd.error().code() == Code::kBusy) return true;
    return std::nullopt;
  }
  const std::optional<std::uint32_t> after = active();
  if (!after) return std::nullopt;
  return *after > *before;
}

}  // namespace zenfs
