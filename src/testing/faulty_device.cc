#include "testing/faulty_device.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "testing/immediate_queue.h"

namespace zenfs {
namespace {

Error Injected(const FaultyDevice::Fault& fault, std::optional<ZoneId> zone) {
  static constexpr const char* kNames[] = {"report", "read", "write", "append", "reset",
                                           "finish", "open", "close", "flush"};
  std::string text = fmt::format("injected fault in {}", kNames[static_cast<std::size_t>(fault.command)]);
  if (zone) text += fmt::format(" of zone {}", zone->value);
  return Error(fault.code, std::move(text), fault.code == Code::kIo ? EIO : 0);
}

}  // namespace

FaultyDevice::FaultyDevice(std::unique_ptr<ZonedDevice> device) : device_(std::move(device)) {}

void FaultyDevice::Inject(const Fault& fault) {
  MutexLock lock(mutex_);
  faults_.push_back({fault, 0});
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

std::optional<FaultyDevice::Fault> FaultyDevice::Enter(Command command, std::optional<ZoneId> zone) {
  MutexLock lock(mutex_);
  ++counts_[static_cast<std::size_t>(command)];
  if (gate_ && gate_->command == command && (!gate_->zone || gate_->zone == zone)) {
    const std::uint64_t number = gate_number_;
    ++held_;
    changed_.NotifyAll();
    while (gate_ && gate_number_ == number) changed_.Wait(mutex_);
    --held_;
  }
  std::optional<Fault> met;
  for (Planned& planned : faults_) {
    const Fault& fault = planned.fault;
    if (fault.command != command || (fault.zone && fault.zone != zone)) continue;
    ++planned.seen;
    if (!met && planned.seen >= fault.kth && planned.seen - fault.kth < fault.times) met = fault;
  }
  return met;
}

template <typename Return, typename Do>
Return FaultyDevice::Run(Command command, std::optional<ZoneId> zone, Do carry_out) {
  const std::optional<Fault> fault = Enter(command, zone);
  if (fault && fault->when == When::kBefore) return Fail(Injected(*fault, zone));
  Return result = carry_out();
  if (fault) return Fail(Injected(*fault, zone));
  return result;
}

Result<std::vector<ZoneInfo>> FaultyDevice::Report(ZoneId first, std::uint32_t count) {
  return Run<Result<std::vector<ZoneInfo>>>(Command::kReport, first,
                                            [&] { return device_->Report(first, count); });
}
Status FaultyDevice::Read(DeviceOffset offset, ByteSpan into) {
  return Run<Status>(Command::kRead, geometry().ZoneOf(offset), [&] { return device_->Read(offset, into); });
}
Status FaultyDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  return Run<Status>(Command::kWrite, geometry().ZoneOf(offset),
                     [&] { return device_->Write(offset, pieces); });
}
Result<DeviceOffset> FaultyDevice::Append(ZoneId zone, ByteView bytes) {
  return Run<Result<DeviceOffset>>(Command::kAppend, zone, [&] { return device_->Append(zone, bytes); });
}
Status FaultyDevice::Reset(ZoneId zone) {
  return Run<Status>(Command::kReset, zone, [&] { return device_->Reset(zone); });
}
Status FaultyDevice::Finish(ZoneId zone) {
  return Run<Status>(Command::kFinish, zone, [&] { return device_->Finish(zone); });
}
Status FaultyDevice::Open(ZoneId zone) {
  return Run<Status>(Command::kOpen, zone, [&] { return device_->Open(zone); });
}
Status FaultyDevice::Close(ZoneId zone) {
  return Run<Status>(Command::kClose, zone, [&] { return device_->Close(zone); });
}
Status FaultyDevice::Flush() {
  return Run<Status>(Command::kFlush, std::nullopt, [&] { return device_->Flush(); });
}
std::unique_ptr<IoQueue> FaultyDevice::CreateQueue(std::size_t) {
  return std::make_unique<ImmediateQueue>(*this);
}

}  // namespace zenfs
