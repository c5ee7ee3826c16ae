#include "metalog/log_fingerprint.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/aligned_buffer.h"
#include "device/presence.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"

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

void ReadHeads(ZonedDevice& device, const Superblock& superblock, LogFingerprint& fingerprint) {
  const MetazoneLayout layout(device.geometry().block_size);
  AlignedBuffer block(layout.frames_at - layout.header_at);
  block.Resize(layout.frames_at - layout.header_at);
  for (std::size_t i = fingerprint.heads.size(); i < fingerprint.zones.size(); ++i) {
    const ZoneInfo& info = fingerprint.zones[i];
    std::optional<LogHeader>& head = fingerprint.heads.emplace_back();
    if (info.WrittenBytes() < layout.frames_at) continue;
    if (!device.Read(info.start + layout.header_at, block.Span()).ok()) continue;
    head = FindLogHeader(block.View(), superblock.seed, info.id, layout.block_size);
  }
}

// The zones that the heads name and the superblock does not, with the highest generation that does. A damaged or hostile
// device may name any.
std::map<ZoneId, std::uint64_t> NamedZones(const Geometry& geometry, const Superblock& superblock,
                                           std::span<const std::optional<LogHeader>> heads) {
  std::map<ZoneId, std::uint64_t> added;
  if (!superblock.may_add_metadata_zones()) return added;
  for (const std::optional<LogHeader>& head : heads) {
    if (!head) continue;
    for (const ZoneId zone : head->added) added[zone] = std::max(added[zone], head->generation);
  }
  for (const ZoneId zone : superblock.metadata_zones) added.erase(zone);
  std::erase_if(added, [&](const auto& zone) { return zone.first.value >= geometry.main_zones(); });
  return added;
}

}  // namespace

std::vector<ZoneId> LogFingerprint::zone_ids() const {
  std::vector<ZoneId> ids;
  for (const ZoneInfo& zone : zones) ids.push_back(zone.id);
  return ids;
}

Result<LogFingerprint> TakeLogFingerprint(ZonedDevice& device, const Superblock& superblock) {
  const PresenceMark mark = PresenceMark::Now(device);
  LogFingerprint fingerprint{.zones = {}, .heads = {}, .taken = SteadyNow()};
  ZENFS_ASSIGN_OR_RETURN(fingerprint.zones, ReportZones(device, superblock.metadata_zones));
  ReadHeads(device, superblock, fingerprint);
  fingerprint.named_by.assign(fingerprint.zones.size(), LogFingerprint::kBySuperblock);
  std::vector<ZoneId> ids;
  for (const auto& [zone, generation] : NamedZones(device.geometry(), superblock, fingerprint.heads)) {
    ids.push_back(zone);
    fingerprint.named_by.push_back(generation);
  }
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> added, ReportZones(device, ids));
  fingerprint.zones.insert(fingerprint.zones.end(), added.begin(), added.end());
  ReadHeads(device, superblock, fingerprint);
  ZENFS_RETURN_IF_ERROR(mark.Check(device));
  return fingerprint;
}

std::vector<ZoneId> LogFingerprint::AddedBy(std::uint64_t generation, std::uint64_t salt) const {
  std::set<ZoneId> named;
  for (const std::optional<LogHeader>& head : heads) {
    if (head && head->generation == generation && head->salt == salt)
      named.insert(head->added.begin(), head->added.end());
  }
  std::vector<ZoneId> added;
  for (std::size_t i = 0; i < zones.size(); ++i) {
    if (named_by[i] != kBySuperblock && named.contains(zones[i].id)) added.push_back(zones[i].id);
  }
  return added;
}

std::vector<ZoneId> WithAdded(const Superblock& superblock, std::span<const ZoneId> added) {
  std::vector<ZoneId> zones = superblock.metadata_zones;
  zones.insert(zones.end(), added.begin(), added.end());
  return zones;
}

std::vector<ZoneId> MetadataZones(ZonedDevice& device, const Superblock& superblock) {
  const Result<LogFingerprint> fingerprint = TakeLogFingerprint(device, superblock);
  if (!fingerprint || fingerprint->zones.size() == superblock.metadata_zones.size())
    return superblock.metadata_zones;
  if (const Result<Replayed> replayed = Replay(device, superblock))
    return WithAdded(superblock, replayed->added_zones);
  std::uint64_t newest = 0;
  for (const std::optional<LogHeader>& head : fingerprint->heads)
    newest = std::max(newest, head ? head->generation : 0);
  std::vector<ZoneId> zones;
  for (std::size_t i = 0; i < fingerprint->zones.size(); ++i) {
    if (!fingerprint->WasGivenBack(i, newest)) zones.push_back(fingerprint->zones[i].id);
  }
  return zones;
}

bool SameLog(const LogFingerprint& a, const LogFingerprint& b) {
  return std::ranges::equal(a.zones, b.zones, SameZone) && a.heads == b.heads;
}

Result<LogCheck> CheckLog(ZonedDevice& device, const Superblock& superblock, const LogFingerprint& then) {
  // The caller's reads must happen before the report, even if both only access memory (an emulated device).
  __sync_synchronize();
  if (SteadyNow() - then.taken <= LogFingerprint::kReportSpan) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> zones, ReportZones(device, then.zone_ids()));
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
