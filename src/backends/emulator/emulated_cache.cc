#include "backends/emulator/emulated_cache.h"

#include <algorithm>

#include "backends/emulator/emulated_device.h"

namespace zenfs {

void EmulatedCache::Read(std::span<CachedRead> reads) {
  const bool waits = device_.ReadsWait();
  SteadyTime due{};
  for (CachedRead& read : reads) {
    read.status = device_.ReadBytes(read.offset, read.into);
    if (waits && read.status.ok()) due = std::max(due, Fetch(read.offset, read.into.size()));
  }
  if (waits) device_.WaitUntil(due);
}

SteadyTime EmulatedCache::Fetch(DeviceOffset offset, std::uint64_t length) {
  const Geometry& geometry = device_.geometry();
  const ZoneId zone = geometry.ZoneOf(offset);
  const std::uint64_t begin = offset - geometry.ZoneStart(zone);
  PageCacheModel::Found found;
  {
    MutexLock lock(mutex_);
    found = model_.Use(zone, begin, begin + length);
  }
  for (const PageCacheModel::Run& run : found.missing) {
    const SteadyTime due = device_.TimeRead(zone, run.begin, run.end - run.begin);
    found.ready = std::max(found.ready, due);
    MutexLock lock(mutex_);
    model_.Fill(zone, run, due);
  }
  return found.ready;
}

void EmulatedCache::Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) {
  const Geometry& geometry = device_.geometry();
  const ZoneId zone = geometry.ZoneOf(offset);
  if (zone.value >= geometry.zone_count || !device_.ReadsWait()) return;
  if (advice == CacheAdvice::kWillNeed) {
    static_cast<void>(Fetch(offset, length));
    return;
  }
  const std::uint64_t begin = offset - geometry.ZoneStart(zone);
  MutexLock lock(mutex_);
  model_.Drop(zone, begin, begin + length);
}

void EmulatedCache::Warm(std::span<const ZoneInfo> zones) {
  MutexLock lock(mutex_);
  for (const ZoneInfo& zone : zones) {
    const std::uint64_t room = model_.free_bytes();
    if (room == 0) return;
    model_.Fill(zone.id, {0, std::min(room, zone.WrittenBytes())}, {});
  }
}

void EmulatedCache::DropZone(ZoneId zone) {
  MutexLock lock(mutex_);
  model_.DropZone(zone);
}

}  // namespace zenfs
