#include "metalog/metazones.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/frame.h"

namespace zenfs {
namespace {

bool Contains(std::span<const ZoneId> zones, ZoneId zone) {
  return std::ranges::find(zones, zone) != zones.end();
}

constexpr std::uint64_t kMinFrameBlocks = 8;  // a generation needs some room behind its header

}  // namespace

MetazoneLayout::MetazoneLayout(std::uint32_t block)
    : block_size(block),
      header_at(RoundUp(kSuperblockBytes, block)),
      frames_at(header_at + RoundUp(512, block)) {}

Metazones::Metazones(ZonedDevice& device, const Superblock& superblock)
    : device_(device), zones_(superblock.metadata_zones), layout_(device.geometry().block_size) {}

void Metazones::Distrust(ZoneId zone, Trust trust) {
  MutexLock lock(mutex_);
  trust_[zone] = std::max(trust_[zone], trust);
}

std::uint32_t Metazones::usable() const {
  MutexLock lock(mutex_);
  const auto bad =
      std::ranges::count_if(trust_, [](const auto& entry) { return entry.second == Trust::kBad; });
  return static_cast<std::uint32_t>(zones_.size() - static_cast<std::size_t>(bad));
}

Metazones::Trust Metazones::trust(ZoneId zone) const {
  MutexLock lock(mutex_);
  const auto found = trust_.find(zone);
  return found == trust_.end() ? Trust::kGood : found->second;
}

Result<std::uint64_t> Metazones::MakeEmpty(ZoneId zone) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> before, device_.Report(zone, 1));
  if (before.front().condition == ZoneCondition::kEmpty) return before.front().capacity;
  ZENFS_RETURN_IF_ERROR(device_.Reset(zone));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> after, device_.Report(zone, 1));
  if (after.front().condition != ZoneCondition::kEmpty) {
    return Fail(Code::kIo, fmt::format("zone {} is {} after its reset", zone.value,
                                       ConditionName(after.front().condition)));
  }
  return after.front().capacity;
}

void Metazones::ResetAllBut(std::span<const ZoneId> keep) {
  for (const ZoneId zone : zones_) {
    if (Contains(keep, zone)) continue;
    // A bad zone is reset too, if it can be: it may still hold one of the device's active slots.
    if (!MakeEmpty(zone)) Distrust(zone, Trust::kBad);
  }
}

void Metazones::FinishSuperseded(std::span<const ZoneId> keep, std::size_t spare) {
  std::vector<ZoneId> active;
  for (const ZoneId zone : zones_) {
    if (Contains(keep, zone)) continue;
    const Result<std::vector<ZoneInfo>> report = device_.Report(zone, 1);
    if (report && IsActive(report->front().condition)) active.push_back(zone);
  }
  if (active.size() <= spare) return;
  for (const ZoneId zone : active) {
    if (!device_.Finish(zone) && !MakeEmpty(zone)) Distrust(zone, Trust::kBad);
  }
}

Result<Metazones::Target> Metazones::Take(std::span<const ZoneId> keep, ZoneId after) {
  const auto behind = std::ranges::upper_bound(zones_, after);
  std::vector<ZoneId> order(behind, zones_.end());
  order.insert(order.end(), zones_.begin(), behind);
  std::string why = "all are in use";
  for (const Trust wanted : {Trust::kGood, Trust::kEndedEarly}) {
    for (const ZoneId zone : order) {
      if (Contains(keep, zone) || trust(zone) != wanted) continue;
      const Result<std::uint64_t> capacity = MakeEmpty(zone);
      if (capacity && *capacity >= layout_.frames_at + kMinFrameBlocks * layout_.block_size) {
        return Target{.zone = zone, .capacity = *capacity};
      }
      why = capacity ? fmt::format("zone {} holds only {} bytes", zone.value, *capacity)
                     : capacity.error().ToString();
      Distrust(zone, Trust::kBad);
    }
  }
  return Fail(Code::kNoSpace, fmt::format("no metadata zone is left to write to ({})", why));
}

}  // namespace zenfs
