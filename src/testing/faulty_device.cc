#include "testing/faulty_device.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "testing/immediate_queue.h"

namespace zenfs {
namespace {

Error Injected(const FaultyDevice::Fault& fault, std::optional<ZoneId> zone) {
  static constexpr const char* kNames[] = {
      "report", "read", "write", "append", "reset",
      "finish", "open", "close", "flush",  "open with a random write area",
      "commit", "copy"};
  std::string text = fmt::format("injected fault in {}", kNames[static_cast<std::size_t>(fault.command)]);
  if (zone) text += fmt::format(" of zone {}", zone->value);
  const bool with_errno = fault.code == Code::kIo || fault.code == Code::kNotFound;
  return Error(fault.code, std::move(text), with_errno ? fault.os_errno : 0);
}

}  // namespace

FaultyDevice::FaultyDevice(std::unique_ptr<ZonedDevice> device) : ForwardingDevice(std::move(device)) {}

void FaultyDevice::Inject(const Fault& fault) {
  MutexLock lock(mutex_);
  faults_.push_back({fault, Random(fault.seed), 0});
}

void FaultyDevice::Unplug() {
  for (std::size_t command = 0; command < kCommands; ++command) {
    Inject({.command = static_cast<Command>(command),
            .times = kForEver,
            .code = Code::kNotFound,
            .os_errno = ENODEV});
  }
}

void FaultyDevice::ClearFaults() {
  MutexLock lock(mutex_);
  faults_.clear();
}

std::uint64_t FaultyDevice::count(Command command) const {
  MutexLock lock(mutex_);
  return counts_[static_cast<std::size_t>(command)];
}

void FaultyDevice::Hold(Command command, std::optional<ZoneId> zone) {
  MutexLock lock(mutex_);
  gate_ = Gate{command, zone};
  ++gate_number_;
}

bool FaultyDevice::WaitUntilHeld(std::size_t count, Deadline deadline) {
  MutexLock lock(mutex_);
  while (held_ < count) {
    if (!changed_.WaitUntil(mutex_, deadline)) return held_ >= count;
  }
  return true;
}

void FaultyDevice::Release() {
  MutexLock lock(mutex_);
  gate_.reset();
  changed_.NotifyAll();
}

bool FaultyDevice::Meets(const Fault& fault, Command command, const Target& target) {
  if (fault.command != command || (fault.zone && fault.zone != target.zone)) return false;
  if (!fault.bytes) return true;
  return target.bytes && target.bytes->from < fault.bytes->to && fault.bytes->from < target.bytes->to;
}

FaultyDevice::Target FaultyDevice::TargetOf(DeviceOffset offset, std::uint64_t length) const {
  return {.zone = geometry().ZoneOf(offset), .bytes = Bytes{offset, offset + length}};
}

std::optional<FaultyDevice::Fault> FaultyDevice::Enter(Command command, const Target& target) {
  MutexLock lock(mutex_);
  ++counts_[static_cast<std::size_t>(command)];
  if (gate_ && gate_->command == command && (!gate_->zone || gate_->zone == target.zone)) {
    const std::uint64_t number = gate_number_;
    ++held_;
    changed_.NotifyAll();
    while (gate_ && gate_number_ == number) changed_.Wait(mutex_);
    --held_;
  }
  std::optional<Fault> met;
  for (Planned& planned : faults_) {
    const Fault& fault = planned.fault;
    if (!Meets(fault, command, target)) continue;
    ++planned.seen;
    const bool due = planned.seen >= fault.kth && planned.seen - fault.kth < fault.times;
    if (due && planned.chance.OneIn(fault.one_in) && !met) met = fault;
  }
  return met;
}

template <typename Return, typename Do>
Return FaultyDevice::Run(Command command, const Target& target, Do carry_out) {
  const std::optional<Fault> fault = Enter(command, target);
  if (fault && fault->when != When::kAfter) return Fail(Injected(*fault, target.zone));
  Return result = carry_out();
  if (fault) return Fail(Injected(*fault, target.zone));
  return result;
}

Result<std::vector<ZoneInfo>> FaultyDevice::Report(ZoneId first, std::uint32_t count) {
  return Run<Result<std::vector<ZoneInfo>>>(Command::kReport, {.zone = first},
                                            [&] { return inner().Report(first, count); });
}
Status FaultyDevice::Read(DeviceOffset offset, ByteSpan into) {
  return Run<Status>(Command::kRead, TargetOf(offset, into.size()),
                     [&] { return inner().Read(offset, into); });
}
Status FaultyDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  std::uint64_t length = 0;
  for (const ByteView piece : pieces) length += piece.size();
  const Target target = TargetOf(offset, length);
  const std::optional<Fault> fault = Enter(Command::kWrite, target);
  if (fault && fault->when == When::kPartly && !pieces.empty()) {
    // Ignore the result of the first part: the whole write is reported as failed.
    IgnoreError(inner().Write(offset, pieces.front().first(geometry().block_size)));
  }
  if (fault && fault->when != When::kAfter) return Fail(Injected(*fault, target.zone));
  Status written = inner().Write(offset, pieces);
  if (fault) return Fail(Injected(*fault, target.zone));
  return written;
}
Result<DeviceOffset> FaultyDevice::Append(ZoneId zone, ByteView bytes) {
  const Target target{
      .zone = zone,
      .bytes = Bytes{geometry().ZoneStart(zone), geometry().ZoneStart(zone) + geometry().zone_size}};
  const std::optional<Fault> fault = Enter(Command::kAppend, target);
  if (fault && fault->when != When::kAfter && fault->when != When::kElsewhere)
    return Fail(Injected(*fault, zone));
  Result<DeviceOffset> place = inner().Append(zone, bytes);
  if (!fault) return place;
  if (fault->when == When::kElsewhere) return geometry().ZoneStart(zone);
  return Fail(Injected(*fault, zone));
}
Status FaultyDevice::Reset(ZoneId zone) {
  return Run<Status>(Command::kReset, {.zone = zone}, [&] { return inner().Reset(zone); });
}
Status FaultyDevice::Finish(ZoneId zone) {
  return Run<Status>(Command::kFinish, {.zone = zone}, [&] { return inner().Finish(zone); });
}
Status FaultyDevice::Open(ZoneId zone) {
  return Run<Status>(Command::kOpen, {.zone = zone}, [&] { return inner().Open(zone); });
}
Status FaultyDevice::Close(ZoneId zone) {
  return Run<Status>(Command::kClose, {.zone = zone}, [&] { return inner().Close(zone); });
}
Status FaultyDevice::OpenRandom(ZoneId zone) {
  return Run<Status>(Command::kOpenRandom, {.zone = zone}, [&] { return inner().OpenRandom(zone); });
}
Status FaultyDevice::CommitRandom(DeviceOffset to) {
  // The end of a zone is the start of the next one.
  const ZoneId zone = geometry().ZoneOf(DeviceOffset(to.value - 1));
  return Run<Status>(Command::kCommitRandom, {.zone = zone}, [&] { return inner().CommitRandom(to); });
}
Status FaultyDevice::Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) {
  return Run<Status>(Command::kCopy, TargetOf(to, length), [&] { return inner().Copy(from, to, length); });
}
Status FaultyDevice::Flush() {
  return Run<Status>(Command::kFlush, {}, [&] { return inner().Flush(); });
}
std::unique_ptr<IoQueue> FaultyDevice::CreateQueue(std::size_t) {
  return std::make_unique<ImmediateQueue>(*this);
}

}  // namespace zenfs
