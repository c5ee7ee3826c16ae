#include "device/flush_mark.h"

#include <fmt/format.h>

namespace zenfs {

Status FlushDevice(ZonedDevice& device) {
  if (!device.geometry().volatile_cache) return {};
  if (Status done = device.Flush(); !done.ok()) return Fail(done.error().With(device.name() + ": flush"));
  return {};
}

Status FlushWrittenSince(ZonedDevice& device, FlushMark mark) {
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  if (!mark.FlushFailedSince(device)) return {};
  return Fail(Code::kIo, fmt::format("{}: bytes just written: {}", device.name(), kLostToAFlush));
}

}  // namespace zenfs
