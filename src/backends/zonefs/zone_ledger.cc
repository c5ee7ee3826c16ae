#include "backends/zonefs/zone_ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {

ZoneLedger::ZoneLedger(std::string name, std::uint32_t max_active, std::vector<ZoneFileState> zones)
    : name_(std::move(name)), max_active_(max_active), zones_(zones.size()) {
  for (std::uint32_t i = 0; i < zones_.size(); ++i) SetState(ZoneId(i), zones[i]);
}

Status ZoneLedger::CheckWrite(ZoneId zone, std::uint64_t at, std::uint64_t bytes) const {
  if (bytes == 0) return Fail(Refusal(Code::kInvalidArgument, "write of nothing to", zone, ""));
  ZENFS_RETURN_IF_ERROR(CheckCommand("write to", zone));
  const ZoneFileState& state = zones_[zone.value].state;
  if (state.size >= state.capacity) {
    return Fail(Refusal(Code::kZoneFull, "write to", zone, "it is full"));
  }
  if (at != state.size) {
    return Fail(Refusal(Code::kInvalidArgument, "write to", zone,
                        fmt::format("{} is not its write pointer, {}", at, state.size)));
  }
  if (bytes > state.capacity - at) {
    return Fail(
        Refusal(Code::kZoneFull, "write to", zone,
                fmt::format("{} bytes at {} do not fit its capacity of {}", bytes, at, state.capacity)));
  }
  return {};
}

Status ZoneLedger::CheckCommand(std::string_view command, ZoneId zone) const {
  const Zone& z = zones_[zone.value];
  switch (z.state.access) {
    case ZoneAccess::kWritable: break;
    case ZoneAccess::kReadOnly: return Fail(Refusal(Code::kReadOnly, command, zone, "it is read-only"));
    case ZoneAccess::kOffline: return Fail(Refusal(Code::kNotFound, command, zone, "it is offline"));
  }
  if (z.writing) return Fail(Refusal(Code::kBusy, command, zone, "another write to it is under way"));
  return {};
}

Status ZoneLedger::CheckOpen(ZoneId zone) const {
  ZENFS_RETURN_IF_ERROR(CheckCommand("open of", zone));
  const ZoneFileState& state = zones_[zone.value].state;
  if (state.size < state.capacity) return {};
  return Fail(Refusal(Code::kInvalidArgument, "open of", zone, "it is full"));
}

Status ZoneLedger::CheckClose(ZoneId zone) const {
  ZENFS_RETURN_IF_ERROR(CheckCommand("close of", zone));
  const Zone& z = zones_[zone.value];
  if (z.state.size >= z.state.capacity) {
    return Fail(Refusal(Code::kInvalidArgument, "close of", zone, "it is full"));
  }
  if (z.state.size != 0 || z.held) return {};
  return Fail(Refusal(Code::kInvalidArgument, "close of", zone, "it is empty"));
}

Status ZoneLedger::CheckHold(ZoneId zone) const {
  if (max_active_ == 0 || active_ < max_active_ || IsActive(zones_[zone.value])) return {};
  return Fail(Refusal(Code::kBusy, "open of", zone,
                      fmt::format("{} zones are active, the limit is {}", active_, max_active_)));
}

std::optional<ZoneId> ZoneLedger::Dispensable() const {
  std::optional<ZoneId> oldest;
  for (const ZoneId zone : held_) {
    const Zone& z = zones_[zone.value];
    if (z.explicitly_open || z.writing) continue;
    if (!oldest || z.used < zones_[oldest->value].used) oldest = zone;
  }
  return oldest;
}

void ZoneLedger::Hold(ZoneId zone) {
  Update(zone, [&](Zone& z) {
    if (!z.held) held_.push_back(zone);
    z.held = true;
    z.used = ++tick_;
  });
}

void ZoneLedger::LetGo(ZoneId zone) {
  Update(zone, [&](Zone& z) {
    if (z.held) std::erase(held_, zone);
    z.held = z.explicitly_open = false;
  });
}

void ZoneLedger::SetExplicit(ZoneId zone) { zones_[zone.value].explicitly_open = true; }

void ZoneLedger::BeginWrite(ZoneId zone) {
  zones_[zone.value].writing = true;
  zones_[zone.value].used = ++tick_;
}

void ZoneLedger::EndWrite(ZoneId zone) { zones_[zone.value].writing = false; }

void ZoneLedger::SetSize(ZoneId zone, std::uint64_t size) {
  Update(zone, [&](Zone& z) { z.state.size = size; });
}

void ZoneLedger::SetState(ZoneId zone, const ZoneFileState& state) {
  Update(zone, [&](Zone& z) { z.state = state; });
}

ZoneCondition ZoneLedger::ConditionOf(ZoneId zone, const ZoneFileState& state) const {
  const Zone& z = zones_[zone.value];
  if (state.access == ZoneAccess::kOffline) return ZoneCondition::kOffline;
  if (state.access == ZoneAccess::kReadOnly) return ZoneCondition::kReadOnly;
  if (state.size >= state.capacity) return ZoneCondition::kFull;
  if (z.explicitly_open) return ZoneCondition::kExplicitlyOpen;
  if (state.size == 0) return ZoneCondition::kEmpty;  // held for its first write, which has not completed
  return z.held ? ZoneCondition::kImplicitlyOpen : ZoneCondition::kClosed;
}

bool ZoneLedger::IsActive(const Zone& zone) {
  const ZoneFileState& s = zone.state;
  return s.access == ZoneAccess::kWritable && s.size < s.capacity && (s.size != 0 || zone.held);
}

// Every change that can make a zone active or inactive goes through this function.
template <typename Change>
void ZoneLedger::Update(ZoneId zone, Change change) {
  Zone& z = zones_[zone.value];
  const bool before = IsActive(z);
  change(z);
  const bool after = IsActive(z);
  if (after && !before) ++active_;
  if (before && !after) --active_;
}

Error ZoneLedger::Refusal(Code code, std::string_view command, ZoneId zone, std::string_view why) const {
  return Error(code,
               fmt::format("{}: {} zone {}{}{}", name_, command, zone.value, why.empty() ? "" : ": ", why));
}

}  // namespace zenfs
