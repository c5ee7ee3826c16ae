#include "world/sim_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "testing/sim_scheduler.h"
#include "world/sim_queue.h"

namespace zenfs {
namespace {

enum Kind : std::uint64_t { kReport, kRead, kWrite, kAppend, kManage, kFlush };

// Of slow commands. Far below the time that writers wait for space, because the collector reads, too.
constexpr std::uint64_t kSlowestUs = 100'000;

}  // namespace

SimDevice::SimDevice(std::unique_ptr<CrashDevice> device, std::uint64_t seed)
    : ForwardingDevice(*device), device_(std::move(device)), random_(seed) {}

void SimDevice::SetFaults(const SimFaults& faults) {
  MutexLock lock(mutex_);
  faults_ = faults;
}

void SimDevice::Spare(Spared zones) {
  MutexLock lock(mutex_);
  spared_ = std::move(zones);
}

std::uint64_t SimDevice::faults_met() const {
  MutexLock lock(mutex_);
  return faults_met_;
}

std::uint64_t SimDevice::Below(std::uint64_t bound) {
  MutexLock lock(mutex_);
  return random_.Below(bound);
}

bool SimDevice::Meets(std::uint32_t SimFaults::* rate) {
  MutexLock lock(mutex_);
  const std::uint32_t one_in = faults_.*rate;
  if (one_in == 0 || !random_.OneIn(one_in)) return false;
  ++faults_met_;
  return true;
}

// A temporary error: the next try at the same place succeeds.
bool SimDevice::MeetsReadError(DeviceOffset offset) {
  {
    MutexLock lock(mutex_);
    if (read_errors_.erase(offset) != 0) return false;
  }
  if (!Meets(&SimFaults::read_error)) return false;
  MutexLock lock(mutex_);
  read_errors_.insert(offset);
  return true;
}

void SimDevice::Linger(std::uint64_t times) {
  std::uint64_t us = 0;
  {
    MutexLock lock(mutex_);
    const std::uint64_t most = faults_.latency_us_max;
    if (most != 0) us = random_.Below(std::max(most, std::min(times * most, kSlowestUs)) + 1);
  }
  if (us != 0 && !device_->stopped()) SleepUntil(SteadyNow() + std::chrono::microseconds(us));
}

Error SimDevice::Injected(const char* what, ZoneId zone) const {
  return Error(Code::kIo, fmt::format("{}: injected fault: {} of zone {}", name(), what, zone.value), EIO);
}

void SimDevice::Note(std::uint64_t kind, std::uint64_t where, bool ok) const {
  if (SimScheduler* scheduler = SimScheduler::Running())
    scheduler->Note(kind << 60 ^ where << 1 ^ (ok ? 1 : 0));
}

Result<std::vector<ZoneInfo>> SimDevice::Report(ZoneId first, std::uint32_t count) {
  Linger();
  if (Meets(&SimFaults::report_error)) return Fail(Injected("report", first));
  auto report = device_->Report(first, count);
  Note(kReport, first.value, report.has_value());
  return report;
}

Status SimDevice::Read(DeviceOffset offset, ByteSpan into) {
  // So slow that zones can be emptied, reset and written again before it is executed.
  constexpr std::uint64_t kSlow = 200, kOneIn = 16;
  Linger(Below(kOneIn) == 0 ? kSlow : 1);
  if (MeetsReadError(offset)) return Fail(Injected("read", geometry().ZoneOf(offset)));
  Status status = device_->Read(offset, into);
  Note(kRead, offset.value, status.ok());
  Linger();
  return status;
}

// Before a write, the controller may end the zone.
void SimDevice::ChangeZoneOf(ZoneId zone) {
  if (Meets(&SimFaults::zone_full)) {
    // A zone that can't be finished stays as it is.
    static_cast<void>(device_->Finish(zone).ok());
  }
  if (Meets(&SimFaults::zone_read_only)) TurnBad(zone, ZoneCondition::kReadOnly);
  if (!Meets(&SimFaults::zone_offline)) return;
  const auto report = device_->ReportZone(zone);
  // Flushed data must not be lost, unless another copy of it is there.
  if (report && (report->condition == ZoneCondition::kEmpty || MayDie(zone)))
    TurnBad(zone, ZoneCondition::kOffline);
}

bool SimDevice::IsDead(ZoneId zone) const {
  const auto report = device_->ReportZone(zone);
  return report &&
         (report->condition == ZoneCondition::kOffline || report->condition == ZoneCondition::kReadOnly);
}

bool SimDevice::MayDie(ZoneId zone) const {
  MutexLock lock(mutex_);
  return spared_.one_may_die.contains(zone);
}

void SimDevice::TurnBad(ZoneId zone, ZoneCondition condition) {
  std::set<ZoneId> one;
  {
    MutexLock lock(mutex_);
    one = spared_.one_may_die;
  }
  // Also one that died before a crash, on the device that this one is an image of.
  if (one.contains(zone) && std::ranges::any_of(one, [this](ZoneId other) { return IsDead(other); })) return;
  {
    MutexLock lock(mutex_);
    if (bad_zones_.size() >= faults_.zones_bad_max || spared_.turning_bad.contains(zone)) return;
    if (condition == ZoneCondition::kOffline && spared_.turning_offline.contains(zone)) return;
    bad_zones_.insert(zone);
  }
  static_cast<void>(device_->SetCondition(zone, condition).ok());
}

// Writes some of the blocks, chosen at random.
Status SimDevice::WriteSome(DeviceOffset offset, std::span<const ByteView> pieces) {
  std::uint64_t total = 0;
  for (const ByteView piece : pieces) total += piece.size();
  std::uint64_t left = Below(total / geometry().block_size) * geometry().block_size;
  std::vector<ByteView> some;
  for (const ByteView piece : pieces) {
    if (left == 0) break;
    some.push_back(piece.first(std::min<std::uint64_t>(left, piece.size())));
    left -= some.back().size();
  }
  if (some.empty()) return {};
  return device_->Write(offset, some);
}

Status SimDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  Linger();
  const ZoneId zone = geometry().ZoneOf(offset);
  ChangeZoneOf(zone);
  if (Meets(&SimFaults::write_error)) return Fail(Injected("write", zone));
  if (Meets(&SimFaults::write_short)) {
    static_cast<void>(WriteSome(offset, pieces).ok());
    return Fail(Injected("short write", zone));
  }
  Status status = device_->Write(offset, pieces);
  Note(kWrite, offset.value, status.ok());
  if (Meets(&SimFaults::write_unknown)) {
    return Fail(Code::kUnknownOutcome,
                fmt::format("{}: injected time-out of a write to zone {}", name(), zone.value));
  }
  Linger();
  return status;
}

Result<DeviceOffset> SimDevice::Append(ZoneId zone, ByteView bytes) {
  Linger();
  ChangeZoneOf(zone);
  if (Meets(&SimFaults::write_error)) return Fail(Injected("append", zone));
  if (Meets(&SimFaults::write_short)) {
    const std::uint64_t some = Below(bytes.size() / geometry().block_size) * geometry().block_size;
    if (some != 0) static_cast<void>(device_->Append(zone, bytes.first(some)).has_value());
    return Fail(Injected("short append", zone));
  }
  if (Meets(&SimFaults::append_twice)) static_cast<void>(device_->Append(zone, bytes).has_value());
  auto place = device_->Append(zone, bytes);
  Note(kAppend, place ? place->value : 0, place.has_value());
  if (Meets(&SimFaults::write_unknown)) {
    return Fail(Code::kUnknownOutcome,
                fmt::format("{}: injected time-out of an append to zone {}", name(), zone.value));
  }
  Linger();
  return place;
}

Status SimDevice::Manage(Management command, ZoneId zone, std::uint32_t SimFaults::* rate, const char* what) {
  Linger();
  const bool fails = rate != nullptr && Meets(rate);
  if (fails && Below(2) == 0) return Fail(Injected(what, zone));
  Status status = ((*device_).*command)(zone);
  Note(kManage, zone.value, status.ok());
  if (fails && status.ok()) return Fail(Injected(what, zone));
  Linger();
  return status;
}

Status SimDevice::Reset(ZoneId zone) {
  return Manage(&CrashDevice::Reset, zone, &SimFaults::reset_error, "reset");
}
Status SimDevice::Finish(ZoneId zone) {
  return Manage(&CrashDevice::Finish, zone, &SimFaults::finish_error, "finish");
}
Status SimDevice::Open(ZoneId zone) { return Manage(&CrashDevice::Open, zone, nullptr, "open"); }
Status SimDevice::Close(ZoneId zone) { return Manage(&CrashDevice::Close, zone, nullptr, "close"); }
Status SimDevice::OpenRandom(ZoneId zone) {
  return Manage(&CrashDevice::OpenRandom, zone, nullptr, "open with a random write area");
}
Status SimDevice::CommitRandom(DeviceOffset to) {
  Linger();
  Status status = device_->CommitRandom(to);
  Note(kManage, to.value, status.ok());
  Linger();
  return status;
}

Status SimDevice::Flush() { return SendFlush(std::nullopt); }
Status SimDevice::FlushDeviceOf(ZoneId zone) { return SendFlush(zone); }

Status SimDevice::SendFlush(std::optional<ZoneId> device_of) {
  Linger();
  if (Meets(&SimFaults::flush_error))
    return Fail(Code::kIo, fmt::format("{}: injected fault: flush", name()), EIO);
  if (Meets(&SimFaults::flush_loses)) {
    device_->DropCache(Below(UINT64_MAX));
    return Fail(Code::kIo, fmt::format("{}: injected fault: flush, the cache is lost", name()), EIO);
  }
  Status status = device_of ? device_->FlushDeviceOf(*device_of) : device_->Flush();
  Note(kFlush, device_of ? device_of->value + 1 : 0, status.ok());
  Linger();
  return status;
}

std::unique_ptr<IoQueue> SimDevice::CreateQueue(std::size_t) { return std::make_unique<SimQueue>(*this); }

}  // namespace zenfs
