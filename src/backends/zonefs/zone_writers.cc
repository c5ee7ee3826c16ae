#include "backends/zonefs/zone_writers.h"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace zenfs {

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
