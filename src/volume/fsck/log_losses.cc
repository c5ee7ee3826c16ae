#include "volume/fsck/log_losses.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"

namespace zenfs {
namespace {

constexpr std::size_t kNamedAtMost = 8;

// A log whose frames behind the last seal may have been in any log zone. If the last mount has not ended, that is each log: all
// these frames may have been in one zone, so that it seems to be sealed. Only a clean unmount removes the place of the buffers;
// without buffers nobody knows.
bool MayEndEarly(const State& state, const FileRecord& record, const ReplayedLog& log) {
  return !state.buffer_place().empty() || log.open_window.has_value() ||
         (record.windows.empty() && record.extents.empty());
}

Finding OfflineZone(const std::string& device, const Geometry& geometry, ZoneId zone,
                    const std::vector<FileId>& suspects, const FileNames& names) {
  Finding finding{.text = OfflineLogText(device, zone), .zone = zone, .offset = geometry.ZoneStart(zone)};
  for (std::size_t i = 0; i < std::min(suspects.size(), kNamedAtMost); ++i) {
    finding.text += (i == 0 ? ": " : ", ") + names.Describe(suspects[i]);
    FileNames::Paths paths = names.PathsOf(suspects[i]);
    std::ranges::move(paths.whole, std::back_inserter(finding.paths));
    finding.more_paths += paths.others;
  }
  if (suspects.size() > kNamedAtMost) {
    const std::size_t others = suspects.size() - kNamedAtMost;
    finding.text += fmt::format(" and {}", Counted(others, "other file"));
    finding.more_paths += others;  // at least one name each
  }
  return finding;
}

}  // namespace

LogLosses FindLogLosses(const std::string& device, const Geometry& geometry, const State& state,
                        const FileNames& names, const std::vector<ZoneId>& offline,
                        const std::function<const ReplayedLog*(FileId)>& log_of) {
  LogLosses all;
  Findings lost;
  std::vector<FileId> suspects;
  std::vector<FileId> logs;
  for (const auto& [id, record] : state.files()) {
    if (log_of(id) != nullptr) logs.push_back(id);
  }
  std::ranges::sort(logs);
  for (const FileId id : logs) {
    const ReplayedLog& log = *log_of(id);
    const bool suspect = !offline.empty() && MayEndEarly(state, *state.FindFile(id), log);
    if (suspect) suspects.push_back(id);
    if (suspect || !log.damage.empty()) all.files.push_back(id);
    for (const LogDamage& damage : log.damage) {
      lost.Add(Severity::kError, [&] {
        FileNames::Paths paths = names.PathsOf(id);
        Finding finding{.text = DamageText(damage, names.Describe(id)),
                        .paths = std::move(paths.whole),
                        .more_paths = paths.others};
        if (damage.near) finding.zone = geometry.ZoneOf(*damage.near);
        finding.offset = damage.near;
        return finding;
      });
    }
  }
  for (const ZoneId zone : offline) {
    // If nothing is suspect, no file can have lost bytes.
    all.findings.Add(suspects.empty() ? Severity::kWarning : Severity::kError,
                     [&] { return OfflineZone(device, geometry, zone, suspects, names); });
  }
  all.findings.Add(lost);
  return all;
}

}  // namespace zenfs
