#include "metalog/log_fingerprint.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "metalog/metazones.h"

namespace zenfs {
namespace {

bool SameZone(const ZoneInfo& a, const ZoneInfo& b) {
  // Changes between open, closed and full do not change the contents.
  return a.WrittenBytes() == b.WrittenBytes() && a.capacity == b.capacity &&
         (a.condition == ZoneCondition::kOffline) == (b.condition == ZoneCondition::kOffline);
}

// One command for each run of adjacent zones.
Result<std::vector<ZoneInfo>> ReportZones(ZonedDevice& device, const std::vector<ZoneId>& zones) {
  std::vector<ZoneInfo> all;
  for (std::size_t first = 0; first < zones.size();) {
    std::size_t last = first + 1;
    while (last < zones.size() && zones[last].value == zones[last - 1].value + 1) ++last;
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> run,
                           device.Report(zones[first], static_cast<std::uint32_t>(last - first)));
    all.insert(all.end(), run.begin(), run.end());
    first = last;
  }
  return all;
}

}  // namespace

Result<LogFingerprint> TakeLogFingerprint(ZonedDevice& device, const Superblock& superblock) {
  const MetazoneLayout layout(device.geometry().block_size);
  LogFingerprint fingerprint{.zones = {}, .heads = {}, .taken = SteadyNow()};
  ZENFS_ASSIGN_OR_RETURN(fingerprint.zones, ReportZones(device, superblock.metadata_zones));
  AlignedBuffer block(layout.frames_at - layout.header_at);
  block.Resize(layout.frames_at - layout.header_at);
  for (const ZoneInfo& info : fingerprint.zones) {
    std::optional<LogHeader>& head = fingerprint.heads.emplace_back();
    if (info.WrittenBytes() < layout.frames_at) continue;
    if (!device.Read(info.start + layout.header_at, block.Span()).ok()) continue;
    head = FindLogHeader(block.View(), superblock.seed, info.id, layout.block_size);
  }
  return fingerprint;
}

bool SameLog(const LogFingerprint& a, const LogFingerprint& b) {
  return std::ranges::equal(a.zones, b.zones, SameZone) && a.heads == b.heads;
}

Result<LogCheck> CheckLog(ZonedDevice& device, const Superblock& superblock, const LogFingerprint& then) {
  // The caller's reads must happen before the report, even if both only access memory (an emulated device).
  __sync_synchronize();
  if (SteadyNow() - then.taken <= LogFingerprint::kReportSpan) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> zones, ReportZones(device, superblock.metadata_zones));
    const bool same = std::ranges::equal(then.zones, zones, SameZone);
    // The report may have been slow.
    if (!same || SteadyNow() - then.taken <= LogFingerprint::kReportSpan) {
      return LogCheck{.moved = !same, .confirmed = then.taken};
    }
  }
  ZENFS_ASSIGN_OR_RETURN(const LogFingerprint fingerprint, TakeLogFingerprint(device, superblock));
  return LogCheck{.moved = !SameLog(then, fingerprint), .confirmed = fingerprint.taken};
}

}  // namespace zenfs
