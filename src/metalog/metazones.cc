#include "metalog/metazones.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "device/flush_mark.h"
#include "format/frame.h"
#include "format/metalog_payload.h"

namespace zenfs {
namespace {

bool Contains(std::span<const ZoneId> zones, ZoneId zone) {
  return std::ranges::find(zones, zone) != zones.end();
}

constexpr std::uint64_t kMinFrameBlocks = 8;  // smallest useful room for frames
// Without an empty zone the next commit fails, so one error of the device must not be the last word.
constexpr int kResetTries = 3;

}  // namespace

MetazoneLayout::MetazoneLayout(std::uint32_t block)
    : block_size(block),
      header_at(RoundUp(kSuperblockBytes, block)),
      frames_at(header_at + RoundUp(512, block)) {}

bool AllowsTwoCopies(const Geometry& geometry) {
  // zone/zone_limits.h: two pairs, and as many zones for the rest as a volume with one copy needs.
  constexpr std::uint32_t kFewestSlotsForPairs = 8;
  const auto allows = [](std::uint32_t limit) { return limit == 0 || limit >= kFewestSlotsForPairs; };
  return allows(geometry.max_open) && allows(geometry.max_active);
}

std::uint32_t CopiesOf(const Superblock& superblock, const Geometry& geometry) {
  return superblock.has_two_metadata_copies() && AllowsTwoCopies(geometry) ? 2 : 1;
}

Metazones::Metazones(ZonedDevice& device, const Superblock& superblock, const std::vector<ZoneId>& added)
    : device_(device),
      superblock_(superblock),
      layout_(device.geometry().block_size),
      added_(added.begin(), added.end()) {}

std::vector<ZoneId> Metazones::zones() const {
  std::vector<ZoneId> all = own_zones_;
  MutexLock lock(mutex_);
  all.insert(all.end(), added_.begin(), added_.end());
  all.insert(all.end(), fresh_.begin(), fresh_.end());
  all.insert(all.end(), retired_.begin(), retired_.end());
  all.insert(all.end(), superseded_.begin(), superseded_.end());
  return all;
}

std::size_t Metazones::size() const {
  MutexLock lock(mutex_);
  return own_zones_.size() + added_.size() + fresh_.size() + retired_.size() + superseded_.size();
}

std::vector<ZoneId> Metazones::named() const {
  MutexLock lock(mutex_);
  std::set<ZoneId> named = added_;
  named.insert(fresh_.begin(), fresh_.end());
  return {named.begin(), named.end()};
}

bool Metazones::HasFresh() const {
  MutexLock lock(mutex_);
  return !fresh_.empty();
}

void Metazones::Add(std::span<const ZoneId> zones) {
  MutexLock lock(mutex_);
  fresh_.insert(zones.begin(), zones.end());
  ZENFS_ASSERT(added_.size() + fresh_.size() <= kMaxAddedZones);
}

void Metazones::Retire(std::size_t count) {
  MutexLock lock(mutex_);
  for (; count != 0 && !added_.empty(); --count) retired_.insert(added_.extract(std::prev(added_.end())));
}

void Metazones::NoteSwitched() {
  MutexLock lock(mutex_);
  added_.merge(fresh_);
  superseded_.merge(retired_);
}

std::vector<ZoneId> Metazones::FreeSuperseded() {
  MutexLock lock(mutex_);
  std::vector<ZoneId> freed;
  for (const ZoneId zone : superseded_) {
    if (!trust_.contains(zone)) freed.push_back(zone);  // a failed reset would have made it bad
  }
  for (const ZoneId zone : freed) superseded_.erase(zone);
  return freed;
}

void Metazones::Distrust(ZoneId zone, Trust trust) {
  MutexLock lock(mutex_);
  trust_[zone] = std::max(trust_[zone], trust);
}

void Metazones::WriteFailed(ZoneId zone, const Error& error) {
  if (error.code() == Code::kBusy) return;
  if (error.code() == Code::kZoneFull) return Distrust(zone, Trust::kEndedEarly);
  Distrust(zone, Trust::kBad);
  MutexLock lock(mutex_);
  write_error_ = error;
}

Error Metazones::NoneLeft(std::string_view why) const {
  std::string text = fmt::format("no metadata zone is left to write to ({})", why);
  MutexLock lock(mutex_);
  if (write_error_) text += fmt::format("; the last write failed: {}", write_error_->ToString());
  return Error(Code::kNoSpace, std::move(text));
}

std::uint32_t Metazones::usable() const {
  MutexLock lock(mutex_);
  const auto lost = std::ranges::count_if(trust_, [this](const auto& entry) REQUIRES(mutex_) {
    const bool counts = Contains(own_zones_, entry.first) || added_.contains(entry.first);
    return !CanBeWritten(entry.second) && counts;
  });
  return static_cast<std::uint32_t>(own_zones_.size() + added_.size() - static_cast<std::size_t>(lost));
}

std::uint32_t Metazones::Others(std::span<const ZoneId> keep) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      own_zones_, [&](ZoneId zone) { return !Contains(keep, zone) && CanBeWritten(trust(zone)); }));
}

Metazones::Trust Metazones::trust(ZoneId zone) const {
  MutexLock lock(mutex_);
  const auto found = trust_.find(zone);
  return found == trust_.end() ? Trust::kGood : found->second;
}

Result<std::uint64_t> Metazones::MakeEmpty(ZoneId zone) {
  Result<std::uint64_t> capacity = TryToMakeEmpty(zone);
  for (int tries = 1; tries < kResetTries && !capacity && capacity.error().code() == Code::kIo; ++tries)
    capacity = TryToMakeEmpty(zone);
  if (!capacity) {
    Distrust(zone, Trust::kNotReset);
    return capacity;
  }
  MutexLock lock(mutex_);
  const auto found = trust_.find(zone);
  if (found != trust_.end() && found->second == Trust::kNotReset) trust_.erase(found);
  return capacity;
}

Result<std::uint64_t> Metazones::TryToMakeEmpty(ZoneId zone) {
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
  for (const ZoneId zone : zones()) {
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
  for (const ZoneId zone : zones()) {
    if (Contains(keep, zone)) continue;
    if (zone == last_copy) {
      // The zone is not written any more, so it must not occupy an active slot.
      const auto condition = Condition(zone);
      if (condition && IsActive(*condition)) IgnoreError(device_.Finish(zone));
      if (condition == ZoneCondition::kReadOnly) Distrust(zone, Trust::kBad);
      continue;
    }
    // Reset bad zones too: they may occupy an active slot.
    IgnoreError(MakeEmpty(zone));
  }
}

bool Metazones::EmptyFirst(ZoneId zone, std::span<const ZoneId> keep) {
  if (Condition(zone) == ZoneCondition::kOffline) return true;
  return LastCopy(keep) != zone && MakeEmpty(zone).has_value() && FlushDevice(device_).ok();
}

void Metazones::FinishSuperseded(std::span<const ZoneId> keep, std::size_t spare) {
  std::vector<ZoneId> active;
  for (const ZoneId zone : zones()) {
    if (Contains(keep, zone)) continue;
    if (HoldsSlot(zone)) active.push_back(zone);
  }
  if (active.size() <= spare) return;
  for (const ZoneId zone : active) {
    if (device_.Finish(zone).ok()) continue;
    if (LastCopy(keep) != zone) IgnoreError(MakeEmpty(zone));
  }
}

void Metazones::LimitOthers(std::size_t limit) {
  Result<std::vector<ZoneInfo>> report = ReportAll(device_);
  if (!report) return;  // at worst a log switch finds no slot
  const std::vector<ZoneId> own = zones();
  std::erase_if(*report,
                [&own](const ZoneInfo& zone) { return !IsActive(zone.condition) || Contains(own, zone.id); });
  std::ranges::sort(*report, std::greater(), &ZoneInfo::WrittenBytes);
  std::size_t active = report->size();
  for (const ZoneInfo& zone : *report) {
    if (active <= limit) return;
    if (device_.Finish(zone.id).ok()) --active;
  }
}

std::vector<ZoneId> Metazones::Candidates(const Choice& choice) const {
  std::vector<ZoneId> order = own_zones_;
  std::erase_if(order, [&](ZoneId zone) { return Contains(choice.own, zone) || !CanBeWritten(trust(zone)); });
  if (!choice.first_place && !choice.added.empty()) {
    // Of the zones outside `own`, the next generation needs one for each copy.
    if (order.size() <= CopiesOf(superblock_, device_.geometry())) order.clear();
    order.insert(order.end(), choice.added.begin(), choice.added.end());
  }
  std::erase_if(order, [&](ZoneId zone) {
    return Contains(choice.keep, zone) || Contains(choice.own, zone) || !CanBeWritten(trust(zone));
  });
  // Copies in `own` do not count: its generation is not complete.
  const std::optional<ZoneId> last_copy = LastCopy(choice.keep);
  std::ranges::sort(order, {}, [&](ZoneId zone) {
    return std::tuple(zone == last_copy, trust(zone), Contains(own_zones_, zone), zone <= choice.after, zone);
  });
  return order;
}

Result<Metazones::Target> Metazones::Take(const Choice& choice) {
  std::string why = "all are in use";
  for (const ZoneId zone : Candidates(choice)) {
    const Result<std::uint64_t> capacity = MakeEmpty(zone);
    if (capacity && *capacity >= layout_.frames_at + kMinFrameBlocks * layout_.block_size) {
      return Target{.zone = zone, .capacity = *capacity};
    }
    why = capacity ? fmt::format("zone {} holds only {} bytes", zone.value, *capacity)
                   : capacity.error().ToString();
    if (capacity) Distrust(zone, Trust::kBad);
  }
  return Fail(NoneLeft(why));
}

}  // namespace zenfs
