#include "metalog/flush.h"

#include <fmt/format.h>

#include "metalog/metalog.h"

namespace zenfs {

Status FlushDevice(ZonedDevice& device) {
  if (!device.geometry().volatile_cache) return {};
  if (Status done = device.Flush(); !done.ok()) return Fail(done.error().With(device.name() + ": flush"));
  return {};
}

Status FlushWrittenSince(ZonedDevice& device, std::uint64_t failed_flushes) {
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  if (failed_flushes == CommitOptions::kAnyFlushes || device.errors().failed_flushes == failed_flushes)
    return {};
  return Fail(Code::kIo, fmt::format("{}: what was written: {}", device.name(), kLostToAFlush));
}

}  // namespace zenfs
