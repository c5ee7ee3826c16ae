#include "metalog/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "metalog/generations.h"

namespace zenfs {

Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock) {
  ZENFS_ASSIGN_OR_RETURN(const LogPicture picture, TakeLogPicture(device, superblock));
  Generations generations(device, superblock);
  ZENFS_ASSIGN_OR_RETURN(const Generations::Found found, generations.Read(picture));
  Replayed replayed = found.reader->Take();
  bool headless = false;
  for (std::size_t i = 0; i < picture.zones.size(); ++i) {
    headless = headless || (!picture.heads[i] && picture.zones[i].WrittenBytes() != 0);
    if (picture.heads[i]) {
      replayed.highest_generation = std::max(replayed.highest_generation, picture.heads[i]->generation);
    }
  }
  replayed.newer_traces = found.newer_incomplete || headless;
  const bool roll_was_under_way = replayed.doubt.has_value() || found.newer_incomplete;
  replayed.doubt.reset();
  const auto offline = std::ranges::find(picture.zones, ZoneCondition::kOffline, &ZoneInfo::condition);
  if (offline != picture.zones.end() && roll_was_under_way) {
    replayed.doubt = fmt::format(
        "{}: a roll of the metadata log had begun and metadata zone {} is offline: newer commits than {} may "
        "stand in it; mount read-only",
        device.name(), offline->id.value, replayed.sequence);
  }
  return replayed;
}

}  // namespace zenfs
