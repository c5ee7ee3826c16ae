// The announcements of a read-only mount to the writer of this host (buffers/announced_zones.h), also across writers: each
// mount of a writer has shared memory of its own.
//
// Threads: any. mutex_ is a leaf lock.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "buffers/announced_zones.h"
#include "device/zoned_device.h"
#include "volume/reader/live_state.h"

namespace zenfs {

class ReaderAnnouncements {
 public:
  // The arguments outlive it.
  ReaderAnnouncements(LiveState& live, const Superblock& superblock, const ZonedDevice& device)
      : live_(live), superblock_(superblock), device_(device) {}

  // Null if there is no writer to whom zones can be announced. Looks for a new writer at most once a second.
  [[nodiscard]] std::shared_ptr<const AnnouncedZones::Hold> Announce(std::vector<ZoneId> zones)
      EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::shared_ptr<AnnouncedZones> Writer() EXCLUDES(mutex_);

  LiveState& live_;
  const Superblock& superblock_;
  const ZonedDevice& device_;
  Mutex mutex_{LockRank::kLeaf};
  std::shared_ptr<AnnouncedZones> writer_ GUARDED_BY(mutex_);
  SteadyTime look_at_ GUARDED_BY(mutex_){};
};

}  // namespace zenfs
