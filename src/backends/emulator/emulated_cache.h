// The host's cache of an emulated device. Where reads take no device time, the file is memory already, and a read is one call of
// the host. Otherwise a model says what a host's page cache would hold, and the rest takes the device's time.
//
// In a reader the model does not learn of the writer's resets: the bytes are always those of the device, but a page of a zone
// that was written again may cost no time.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <span>

#include "backends/emulator/page_cache_model.h"
#include "base/mutex.h"
#include "device/host_cache.h"
#include "device/zone_info.h"

namespace zenfs {

class EmulatedDevice;

class EmulatedCache final : public HostCache {
 public:
  // `device` owns this object.
  EmulatedCache(EmulatedDevice& device, std::uint32_t zones, std::uint64_t capacity_bytes)
      : device_(device), model_(zones, capacity_bytes) {}

  void Read(std::span<CachedRead> reads) override EXCLUDES(mutex_);
  void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) override EXCLUDES(mutex_);
  void DropZone(ZoneId zone) EXCLUDES(mutex_);
  // Fills the empty cache with what is written in `zones`, until it is full.
  void Warm(std::span<const ZoneInfo> zones) EXCLUDES(mutex_);

 private:
  // Returns when the range is there.
  SteadyTime Fetch(DeviceOffset offset, std::uint64_t length) EXCLUDES(mutex_);

  EmulatedDevice& device_;
  Mutex mutex_{LockRank::kDeviceState};
  PageCacheModel model_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
