// Wraps the device of every mount: repeats failed reads and counts failed flushes.
//
// Reads and zone reports
//   If one fails with kIo, kBusy or kUnknownOutcome, it is sent again, up to kReadTries times in total, with a pause of
//   kReadPause before the last try. Reap repeats the reads of a queue. Permanent errors (offline, gone, refused, timed
//   out) are not repeated. After kGiveUpAfter consecutive final failures, each read and report is sent once, until one
//   succeeds: a missing device would otherwise be slow to fail.
// Flushes
//   A failed flush is counted and never repeated here: the device may have dropped data, and the next flush would succeed
//   without it. Callers that make data durable check a FlushMark (device/flush_mark.h). Flushes do not overlap
//   (device/shared_flush.h), so a failed flush is counted before the next one begins.
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
// `device` is not owned and must outlive the guard.
[[nodiscard]] std::unique_ptr<ZonedDevice> GuardDevice(ZonedDevice& device);

}  // namespace zenfs
