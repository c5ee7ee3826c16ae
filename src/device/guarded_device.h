// Wraps the device of every mount: repeats failed reads, waits for a device that serves nothing, and counts failed flushes.
//
// Reads and zone reports
//   After each failure the guard reads a block that can be read, to tell a bad block from an outage: a device that serves nothing.
//   A bad block: the read is sent up to kReadTries times in total, with a pause of kReadPause before the last try. After
//   kGiveUpAfter bad blocks in a row each is sent twice without a pause, until one can be read. Permanent errors (offline, gone,
//   refused) are not repeated, and a time-out once. Reap repeats the reads of a queue, unless they were given up.
//   An outage: the guard waits up to kOutageMax for it to end; then the tries begin anew. If it lasts longer, or is known to be
//   permanent, the read fails and is counted (DeviceErrors::outages). Each following one is sent once and counted if it fails,
//   until one succeeds: a missing device would otherwise be slow to fail. Callers that continue without the bytes check a
//   PresenceMark (device/presence.h).
// Flushes
//   A failed flush is counted and never repeated here: the device may have dropped data, and the next flush would succeed
//   without it. Callers that make data durable check a FlushMark (device/flush_mark.h). Flushes do not overlap
//   (SharedFlush), so a failed flush is counted before the next one begins.
//
// Threads: as the device.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

inline constexpr int kReadTries = 3;
inline constexpr std::uint32_t kGiveUpAfter = 8;
inline constexpr std::chrono::milliseconds kReadPause{1};
inline constexpr std::chrono::seconds kOutageMax{1};

[[nodiscard]] std::unique_ptr<ZonedDevice> GuardDevice(std::unique_ptr<ZonedDevice> device);
// `device` is not owned and must outlive the guard.
[[nodiscard]] std::unique_ptr<ZonedDevice> GuardDevice(ZonedDevice& device);

// Sends the flushes of a device one at a time. Callers that arrive during a flush share the next one, which begins when
// the current one has ended.
//
// If two flushes overlapped, the device could drop data in the one that fails and report success for the other. And a
// drive executes flushes one after the other anyway.
//
// Threads: any. The mutex is a leaf and not held during the flush.
class SharedFlush {
 public:
  // `flush` is called from one thread at a time.
  explicit SharedFlush(std::function<Status()> flush) : flush_(std::move(flush)) {}

  // Returns the result of a flush that began after this call. noexcept, because other threads wait for the flushing one.
  [[nodiscard]] Status Run() noexcept EXCLUDES(mutex_);

 private:
  // The callers that share the next flush. A caller that finds no flush under way, and nobody waiting, needs none.
  struct Group {
    bool done = false;
    Status status;
  };

  const std::function<Status()> flush_;
  Mutex mutex_{LockRank::kLeaf};
  CondVar ended_;
  std::shared_ptr<Group> next_ GUARDED_BY(mutex_);
  bool under_way_ GUARDED_BY(mutex_) = false;
};

}  // namespace zenfs
