// What every mount puts in front of its device against errors at run time; the one place where a command is repeated.
//
// Reads, and zone reports
//   One that fails with kIo, kBusy or kUnknownOutcome is sent again, at most kReadTries times in all, with a pause
//   of kReadPause before the last; a read of a queue is repeated by the Reap that delivers it. What a drive means to last
//   (offline, gone, refused, timed out) is not repeated. After kGiveUpAfter in a row have failed for good, each is
//   sent once until one succeeds, so a device that is gone is not asked again and again.
// Flushes
//   A flush that failed is never repeated here, and is remembered: the device may have dropped what it could not keep,
//   and then the next flush succeeds without it. A caller that makes data durable asks for that with a FlushMark
//   (device/flush_mark.h). Flushes do not overlap (device/shared_flush.h): a flush that failed is counted before the next
//   begins.
//
// Threads: as the device.
#pragma once

#include <chrono>
#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

inline constexpr int kReadTries = 3;
inline constexpr std::uint32_t kGiveUpAfter = 8;
inline constexpr std::chrono::milliseconds kReadPause{1};

[[nodiscard]] std::unique_ptr<ZonedDevice> GuardDevice(std::unique_ptr<ZonedDevice> device);
// `device` stays the caller's and outlives the guard.
[[nodiscard]] std::unique_ptr<ZonedDevice> GuardDevice(ZonedDevice& device);

}  // namespace zenfs
