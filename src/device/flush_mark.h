// A point in time, to find out later whether a flush has failed since.
//
// A device that fails a flush may have dropped acknowledged data, and the next flush succeeds without that data. So a
// writer takes a mark before it writes, and checks it after the flush:
//
//   const FlushMark mark = FlushMark::Now(device);
//   device.Write(...);
//   device.Flush();
//   if (mark.FlushFailedSince(device)) ...  // the data may be lost although this flush succeeded
//
// Works only on a guarded device (device/guarded_device.h), which counts failed flushes. Without a guard,
// FlushFailedSince always returns false.
//
// FlushWrittenSince does the last two steps.
//
// Threads: a plain value. A failed flush is counted before the next flush of the device begins.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

// For messages about bytes that were written before a failed flush: "bytes 1 to 9: a flush ...".
inline constexpr const char* kLostToAFlush =
    "a flush of the device's cache failed after they were written, so they may be lost although a later one "
    "succeeds";

class FlushMark {
 public:
  static FlushMark Now(const ZonedDevice& device) { return FlushMark(device.errors().failed_flushes); }
  // The time when the device was opened. For data of unknown age: any failed flush may have lost it.
  static FlushMark AtOpen() { return FlushMark(0); }

  bool FlushFailedSince(const ZonedDevice& device) const {
    return device.errors().failed_flushes != failed_flushes_;
  }

 private:
  explicit FlushMark(std::uint64_t failed_flushes) : failed_flushes_(failed_flushes) {}

  std::uint64_t failed_flushes_;
};

// Flushes the device. Does nothing if it has no volatile cache. Errors: the device's.
[[nodiscard]] Status FlushDevice(ZonedDevice& device);

// Makes writes since `mark` durable. Errors: the device's; kIo if a flush failed since `mark`, so writes may be lost.
[[nodiscard]] Status FlushWrittenSince(ZonedDevice& device, FlushMark mark);

}  // namespace zenfs
