#include "backends/zonefs/zone_writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

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

ZoneWriters::ZoneWriters(std::string name, const ZoneFiles& files, Limits limits,
                         std::vector<ZoneFileState> zones)
    : name_(std::move(name)),
      files_(files),
      limits_(limits),
      ledger_(name_, limits.active, std::move(zones)),
      descriptors_(files.count()) {}

Result<int> ZoneWriters::BeginWrite(ZoneId zone, std::uint64_t at, std::uint64_t bytes) {
  {
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(ledger_.CheckWrite(zone, at, bytes));
    if (ledger_.IsHeld(zone)) {
      ledger_.BeginWrite(zone);
      return descriptors_[zone.value].get();
    }
  }
  MutexLock opening(opening_);
  ZENFS_RETURN_IF_ERROR(Hold(zone));
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(ledger_.CheckWrite(zone, at, bytes));
  ledger_.BeginWrite(zone);
  return descriptors_[zone.value].get();
}

void ZoneWriters::EndWrite(ZoneId zone, std::uint64_t size) {
  {
    MutexLock lock(mutex_);
    ledger_.EndWrite(zone);
    ledger_.SetSize(zone, size);
    if (size < ledger_.state(zone).capacity) return;
  }
  Drop(zone);
}

void ZoneWriters::FailWrite(ZoneId zone, const ZoneFileState& state) {
  {
    MutexLock lock(mutex_);
    ledger_.EndWrite(zone);
    ledger_.SetState(zone, state);
    if (IsActive(ledger_.ConditionOf(zone, state))) return;
  }
  Drop(zone);
}

Status ZoneWriters::Open(ZoneId zone) {
  MutexLock opening(opening_);
  {
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(ledger_.CheckOpen(zone));
  }
  ZENFS_RETURN_IF_ERROR(Hold(zone));
  MutexLock lock(mutex_);
  ledger_.SetExplicit(zone);
  return {};
}

Status ZoneWriters::Close(ZoneId zone) {
  MutexLock opening(opening_);
  UniqueFd closed;
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(ledger_.CheckClose(zone));
  closed = Take(zone);
  return {};
}

Status ZoneWriters::Reset(ZoneId zone) {
  {
    MutexLock opening(opening_);
    UniqueFd closed;  // before the reset: zonefs would reopen an open zone after its reset
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(ledger_.CheckCommand("reset of", zone));
    closed = Take(zone);
  }
  return Truncate(zone, "reset of", 0);
}

Status ZoneWriters::Finish(ZoneId zone) {
  std::uint64_t capacity = 0;
  {
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(ledger_.CheckCommand("finish of", zone));
    capacity = ledger_.state(zone).capacity;
    if (ledger_.state(zone).size >= capacity) return {};
  }
  Status done = Truncate(zone, "finish of", capacity);
  if (!done.ok() && done.error().code() == Code::kBusy) {  // some devices open a zone to finish it
    MutexLock opening(opening_);
    while (!done.ok() && done.error().code() == Code::kBusy && CloseOne()) {
      done = Truncate(zone, "finish of", capacity);
    }
  }
  ZENFS_RETURN_IF_ERROR(done);
  Drop(zone);
  return {};
}

ZoneFileState ZoneWriters::Known(ZoneId zone) const {
  MutexLock lock(mutex_);
  return ledger_.state(zone);
}

void ZoneWriters::Learn(ZoneId zone, ZoneAccess access) {
  MutexLock lock(mutex_);
  ZoneFileState state = ledger_.state(zone);
  state.access = access;
  ledger_.SetState(zone, state);
}

ZoneInfo ZoneWriters::Info(ZoneId zone, DeviceOffset start, std::uint64_t zone_size,
                           const ZoneFileState& state) const {
  ZoneInfo info{.id = zone, .start = start, .capacity = state.capacity};
  {
    MutexLock lock(mutex_);
    info.condition = ledger_.ConditionOf(zone, state);
  }
  // An undefined pointer: report a value that nobody can use as a place to read or write
  // (device-assumptions 6).
  const bool defined = info.condition == ZoneCondition::kEmpty || IsActive(info.condition);
  info.write_pointer = start + (defined ? state.size : zone_size);
  return info;
}

Status ZoneWriters::Hold(ZoneId zone) {
  const std::uint32_t bound = limits_.open == 0 ? kUnlimited : limits_.open;
  bool room = false;
  {
    MutexLock lock(mutex_);
    if (ledger_.IsHeld(zone)) return {};
    ZENFS_RETURN_IF_ERROR(ledger_.CheckHold(zone));
    room = ledger_.held_count() < bound;
  }
  if (!room && !CloseOne()) {
    return Fail(Code::kBusy, fmt::format("{}: open of zone {}: {} zones are open and in use, the limit",
                                         name_, zone.value, bound));
  }
  Result<UniqueFd> opened = files_.OpenToWrite(zone);
  // The limits are those of the device, which others may use too.
  while (!opened && opened.error().code() == Code::kBusy && CloseOne()) opened = files_.OpenToWrite(zone);
  if (!opened) return Fail(Explain(zone, "open of", opened.error()));
  MutexLock lock(mutex_);
  descriptors_[zone.value] = std::move(*opened);
  ledger_.Hold(zone);
  return {};
}

bool ZoneWriters::CloseOne() {
  UniqueFd closed;
  MutexLock lock(mutex_);
  const std::optional<ZoneId> victim = ledger_.Dispensable();
  if (!victim) return false;
  closed = Take(*victim);
  return true;
}

UniqueFd ZoneWriters::Take(ZoneId zone) {
  ledger_.LetGo(zone);
  return std::exchange(descriptors_[zone.value], UniqueFd());
}

void ZoneWriters::Drop(ZoneId zone) {
  MutexLock opening(opening_);
  UniqueFd closed;
  MutexLock lock(mutex_);
  closed = Take(zone);
}

Status ZoneWriters::Truncate(ZoneId zone, std::string_view command, std::uint64_t size) {
  const Status done = files_.Truncate(zone, size);
  if (!done.ok()) return Fail(Explain(zone, command, done.error()));
  MutexLock lock(mutex_);
  ledger_.SetSize(zone, size);
  return {};
}

Error ZoneWriters::Explain(ZoneId zone, std::string_view command, const Error& error) {
  const std::string text = fmt::format("{}: {} zone {}", name_, command, zone.value);
  const Result<ZoneFileState> now = files_.Look(zone);
  if (!now) return error.With(text);
  {
    // Learn the size too: a reset that is reported as failed may have happened, and the next write
    // depends on the size.
    MutexLock lock(mutex_);
    ledger_.SetState(zone, *now);
  }
  if (now->access == ZoneAccess::kOffline) return Error(Code::kNotFound, text + ": it is offline");
  if (now->access == ZoneAccess::kReadOnly) return Error(Code::kReadOnly, text + ": it is read-only");
  if (files_.MountedReadOnly())
    return Error(Code::kReadOnly, fmt::format("{}: {}", text, kMountWentReadOnly));
  return error.With(text);
}

}  // namespace zenfs
