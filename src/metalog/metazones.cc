#include "metalog/metazones.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/aligned_buffer.h"
#include "format/frame.h"
#include "metalog/flush.h"

namespace zenfs {
namespace {

bool Contains(std::span<const ZoneId> zones, ZoneId zone) {
  return std::ranges::find(zones, zone) != zones.end();
}

constexpr std::uint64_t kMinFrameBlocks = 8;  // smallest useful room for frames

}  // namespace

MetazoneLayout::MetazoneLayout(std::uint32_t block)
    : block_size(block),
      header_at(RoundUp(kSuperblockBytes, block)),
      frames_at(header_at + RoundUp(512, block)) {}

bool AllowsTwoCopies(const Geometry& geometry) {
  // zone/slot_plan.h: two pairs, and as many zones for the rest as a volume with one copy needs.
  constexpr std::uint32_t kFewestSlotsForPairs = 8;
  const auto allows = [](std::uint32_t limit) { return limit == 0 || limit >= kFewestSlotsForPairs; };
  return allows(geometry.max_open) && allows(geometry.max_active);
}

std::uint32_t CopiesOf(const Superblock& superblock, const Geometry& geometry) {
  return superblock.has_two_metadata_copies() && AllowsTwoCopies(geometry) ? 2 : 1;
}

Metazones::Metazones(ZonedDevice& device, const Superblock& superblock)
    : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {}

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

std::uint32_t Metazones::Others(std::span<const ZoneId> keep) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      zones_, [&](ZoneId zone) { return !Contains(keep, zone) && trust(zone) != Trust::kBad; }));
}

Metazones::Trust Metazones::trust(ZoneId zone) const {
  MutexLock lock(mutex_);
  const auto found = trust_.find(zone);
  return found == trust_.end() ? Trust::kGood : found->second;
}

Result<std::uint64_t> Metazones::MakeEmpty(ZoneId zone) {
  ZENFS_ASSIGN_OR_RETURN(const ZoneInfo before, device_.ReportZone(zone));
  if (before.condition == ZoneCondition::kEmpty) return before.capacity;
  ZENFS_RETURN_IF_ERROR(device_.Reset(zone));
  ZENFS_ASSIGN_OR_RETURN(const ZoneInfo after, device_.ReportZone(zone));
  if (after.condition != ZoneCondition::kEmpty) {
    return Fail(Code::kIo,
                fmt::format("zone {} is {} after its reset", zone.value, ConditionName(after.condition)));
  }
  return after.capacity;
}

std::optional<bool> Metazones::HoldsSuperblock(ZoneId zone) const {
  const Result<ZoneInfo> report = device_.ReportZone(zone);
  if (!report) return std::nullopt;
  AlignedBuffer buffer(layout_.header_at);
  buffer.Resize(layout_.header_at);
  if (report->WrittenBytes() < buffer.size()) return false;
  if (!device_.Read(device_.geometry().ZoneStart(zone), buffer.Span()).ok()) return std::nullopt;
  const Result<Superblock> copy = DecodeSuperblock(buffer.View());
  return copy && *copy == superblock_;
}

bool Metazones::HoldSuperblock(std::span<const ZoneId> among) const {
  return std::ranges::any_of(among, [this](ZoneId zone) { return HoldsSuperblock(zone).value_or(false); });
}

bool Metazones::AllHoldSuperblock(std::span<const ZoneId> among) const {
  return std::ranges::all_of(among, [this](ZoneId zone) { return HoldsSuperblock(zone).value_or(false); });
}

std::optional<ZoneId> Metazones::LastCopy(std::span<const ZoneId> keep) const {
  if (HoldSuperblock(keep)) return std::nullopt;
  std::optional<ZoneId> perhaps;
  for (const ZoneId zone : zones_) {
    if (Contains(keep, zone)) continue;
    const std::optional<bool> holds = HoldsSuperblock(zone);
    if (holds.value_or(false)) return zone;
    if (!holds && !perhaps) perhaps = zone;
  }
  return perhaps;
}

std::optional<ZoneCondition> Metazones::Condition(ZoneId zone) const {
  const Result<ZoneInfo> report = device_.ReportZone(zone);
  return report ? std::optional(report->condition) : std::nullopt;
}

bool Metazones::HoldsSlot(ZoneId zone) const {
  const auto condition = Condition(zone);
  return condition && IsActive(*condition);
}

void Metazones::ResetAllBut(std::span<const ZoneId> keep) {
  const std::optional<ZoneId> last_copy = keep.empty() ? std::nullopt : LastCopy(keep);
  for (const ZoneId zone : zones_) {
    if (Contains(keep, zone)) continue;
    if (zone == last_copy) {
      // The zone is not written any more, so it must not occupy an active slot.
      const auto condition = Condition(zone);
      if (condition && IsActive(*condition)) IgnoreError(device_.Finish(zone));
      if (condition == ZoneCondition::kReadOnly) Distrust(zone, Trust::kBad);
      continue;
    }
    // Reset bad zones too: they may occupy an active slot.
    if (!MakeEmpty(zone)) Distrust(zone, Trust::kBad);
  }
}

bool Metazones::EmptyFirst(ZoneId zone, std::span<const ZoneId> keep) {
  return LastCopy(keep) != zone && MakeEmpty(zone).has_value() && FlushDevice(device_).ok();
}

void Metazones::FinishSuperseded(std::span<const ZoneId> keep, std::size_t spare) {
  std::vector<ZoneId> active;
  for (const ZoneId zone : zones_) {
    if (Contains(keep, zone)) continue;
    if (HoldsSlot(zone)) active.push_back(zone);
  }
  if (active.size() <= spare) return;
  for (const ZoneId zone : active) {
    if (device_.Finish(zone).ok()) continue;
    if (LastCopy(keep) != zone && !MakeEmpty(zone)) Distrust(zone, Trust::kBad);
  }
}

void Metazones::LimitOthers(std::size_t limit) {
  Result<std::vector<ZoneInfo>> report = ReportAll(device_);
  if (!report) return;  // at worst a log switch finds no slot
  std::erase_if(*report, [this](const ZoneInfo& zone) {
    return !IsActive(zone.condition) || Contains(zones_, zone.id);
  });
  std::ranges::sort(*report, std::greater(), &ZoneInfo::WrittenBytes);
  std::size_t active = report->size();
  for (const ZoneInfo& zone : *report) {
    if (active <= limit) return;
    if (device_.Finish(zone.id).ok()) --active;
  }
}

Result<Metazones::Target> Metazones::Take(std::span<const ZoneId> keep, std::span<const ZoneId> own,
                                          ZoneId after) {
  std::vector<ZoneId> order = zones_;
  std::erase_if(order, [&](ZoneId zone) {
    return Contains(keep, zone) || Contains(own, zone) || trust(zone) == Trust::kBad;
  });
  // Copies in `own` do not count: its generation is not complete.
  const std::optional<ZoneId> last_copy = LastCopy(keep);
  std::ranges::sort(order, {}, [&](ZoneId zone) {
    return std::tuple(zone == last_copy, trust(zone), zone <= after, zone);
  });
  std::string why = "all are in use";
  for (const ZoneId zone : order) {
    const Result<std::uint64_t> capacity = MakeEmpty(zone);
    if (capacity && *capacity >= layout_.frames_at + kMinFrameBlocks * layout_.block_size) {
      return Target{.zone = zone, .capacity = *capacity};
    }
    why = capacity ? fmt::format("zone {} holds only {} bytes", zone.value, *capacity)
                   : capacity.error().ToString();
    Distrust(zone, Trust::kBad);
  }
  return Fail(Code::kNoSpace, fmt::format("no metadata zone is left to write to ({})", why));
}

}  // namespace zenfs
