#include "metalog/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/presence.h"
#include "metalog/generations.h"
#include "metalog/headless_zone.h"

namespace zenfs {
namespace {

// The reason why a metadata zone without a log header forbids a read-write mount; empty if it does not. Before a log switch
// begins, only a frame that claims a newer commit does.
std::string WhyInDoubt(HeadlessZone zone, bool switch_was_under_way) {
  if (zone == HeadlessZone::kNewerCommits)
    return "seems to hold a newer generation, but its log header can't be read";
  if (zone == HeadlessZone::kUnreadable && switch_was_under_way) return "can't be read";
  return {};
}

}  // namespace

Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock) {
  const PresenceMark mark = PresenceMark::Now(device);
  ZENFS_ASSIGN_OR_RETURN(const LogFingerprint fingerprint, TakeLogFingerprint(device, superblock));
  Generations generations(device, superblock);
  ZENFS_ASSIGN_OR_RETURN(const Generations::Found found, generations.Read(fingerprint));
  Replayed replayed = found.reader->Take();
  // A newer generation that was written to two zones at a time is not hidden by the loss of one zone.
  std::optional<std::uint32_t> announced = replayed.announced_copies;
  if (found.newer_incomplete)
    announced = std::min(announced.value_or(found.newer_copies), found.newer_copies);
  const bool switch_was_under_way = announced.has_value();
  std::uint32_t unread = 0;
  replayed.newer_traces = found.newer_incomplete;
  replayed.added_zones = fingerprint.AddedBy(replayed.generation, replayed.salt);
  for (std::size_t i = 0; i < fingerprint.zones.size(); ++i) {
    if (fingerprint.WasGivenBack(i, replayed.generation)) continue;
    const ZoneInfo& zone = fingerprint.zones[i];
    std::string why;
    bool newer_commits = false;
    if (fingerprint.heads[i]) {
      replayed.highest_generation = std::max(replayed.highest_generation, fingerprint.heads[i]->generation);
    } else if (zone.condition == ZoneCondition::kOffline) {
      if (switch_was_under_way) why = "is offline";
    } else if (zone.WrittenBytes() != 0) {
      replayed.newer_traces = true;
      const HeadlessZone judged = JudgeHeadlessZone(device, zone, replayed.generation, replayed.sequence);
      newer_commits = judged == HeadlessZone::kNewerCommits;
      why = WhyInDoubt(judged, switch_was_under_way);
    }
    if (why.empty()) continue;
    ++unread;
    if (!newer_commits && unread < announced.value_or(1)) continue;
    replayed.doubtful_zone = zone.id;
    replayed.doubt =
        fmt::format("{}: {}metadata zone {} {}: it may hold commits after {}; mount read-only", device.name(),
                    switch_was_under_way ? "a switch of the metadata log had begun and " : "", zone.id.value,
                    why, replayed.sequence);
  }
  ZENFS_RETURN_IF_ERROR(mark.Check(device));
  return replayed;
}

}  // namespace zenfs
