// A moment between the flushes of a device, to tell whether data that was written since then can still become durable.
//
// A device that fails a flush may have dropped data that it had acknowledged. The next flush succeeds without that data.
// So the writer takes a mark before the data is written, and asks it after the flush that makes the data durable:
//
//   const FlushMark mark = FlushMark::Now(device);
//   device.Write(...);
//   device.Flush();
//   if (mark.FlushFailedSince(device)) ...  // the data may be lost although this flush succeeded
//
// Marks count only where a guard remembers failed flushes (device/guarded_device.h): without one, no flush ever failed.
//
// Threads: a value. A flush counts as failed before the next flush of the device begins.
#pragma once

#include <cstdint>

#include "device/zoned_device.h"

namespace zenfs {

// For messages about bytes that were written before a flush that failed: "bytes 1 to 9: a flush ...".
inline constexpr const char* kLostToAFlush =
    "a flush of the device's cache failed after they were written, so they may be lost although a later one "
    "succeeds";

class FlushMark {
 public:
  static FlushMark Now(const ZonedDevice& device) { return FlushMark(device.errors().failed_flushes); }
  // The moment when the device was opened; for data that any failed flush may concern.
  static FlushMark AtOpen() { return FlushMark(0); }

  bool FlushFailedSince(const ZonedDevice& device) const {
    return device.errors().failed_flushes != failed_flushes_;
  }

 private:
  explicit FlushMark(std::uint64_t failed_flushes) : failed_flushes_(failed_flushes) {}

  std::uint64_t failed_flushes_;
};

}  // namespace zenfs
