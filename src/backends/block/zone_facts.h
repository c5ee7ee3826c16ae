// Caches facts about each zone, so that commands are checked without a report from the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "backends/block/zone_control.h"

namespace zenfs {

// Threads: safe. The latest report sets the capacity of a zone; the writer of a zone sets its write
// pointer.
class ZoneFacts {
 public:
  explicit ZoneFacts(std::span<const ReportedZone> zones);

  std::uint64_t length(ZoneId zone) const { return zones_[zone.value].length; }
  bool conventional(ZoneId zone) const { return zones_[zone.value].conventional; }
  std::uint64_t capacity(ZoneId zone) const {
    return zones_[zone.value].capacity.load(std::memory_order_relaxed);
  }
  // A reset may change the capacity (device-assumptions 4).
  void SetCapacity(ZoneId zone, std::uint64_t capacity) {
    zones_[zone.value].capacity.store(capacity, std::memory_order_relaxed);
  }
  // The write pointer after the last write or reset by this object, in bytes from the start of the
  // zone.
  std::uint64_t pointer(ZoneId zone) const {
    return zones_[zone.value].pointer.load(std::memory_order_relaxed);
  }
  void SetPointer(ZoneId zone, std::uint64_t pointer) {
    zones_[zone.value].pointer.store(pointer, std::memory_order_relaxed);
  }
  // After an append; others to the same zone may end at the same time.
  void RaisePointer(ZoneId zone, std::uint64_t pointer) {
    std::atomic<std::uint64_t>& known = zones_[zone.value].pointer;
    std::uint64_t seen = known.load(std::memory_order_relaxed);
    while (seen < pointer && !known.compare_exchange_weak(seen, pointer, std::memory_order_relaxed)) {
    }
  }

  // Whether the zone is written by commands of the drive until its reset, though the device is not.
  bool by_commands(ZoneId zone) const {
    return zones_[zone.value].by_commands.load(std::memory_order_relaxed);
  }
  void SetByCommands(ZoneId zone, bool by) {
    zones_[zone.value].by_commands.store(by, std::memory_order_relaxed);
  }

  // What the host's cache holds of a zone.
  enum class Cached : std::uint8_t {
    kUnknown,   // perhaps bytes from before this object
    kDropping,  // a thread drops them
    kCurrent,
  };
  bool cache_is_current(ZoneId zone) const {
    return zones_[zone.value].cached.load(std::memory_order_acquire) == Cached::kCurrent;
  }
  // Returns true for one caller, who drops the zone from the cache and then calls SetCacheCurrent.
  bool TakeDrop(ZoneId zone) {
    Cached seen = Cached::kUnknown;
    return zones_[zone.value].cached.compare_exchange_strong(seen, Cached::kDropping,
                                                             std::memory_order_acquire);
  }
  void SetCacheCurrent(ZoneId zone) {
    zones_[zone.value].cached.store(Cached::kCurrent, std::memory_order_release);
  }

  // Whether the zone has a random write area, after the last command by this object. Also true if the drive ended it.
  bool random_area(ZoneId zone) const {
    return zones_[zone.value].random_area.load(std::memory_order_relaxed);
  }
  void SetRandomArea(ZoneId zone, bool has) {
    zones_[zone.value].random_area.store(has, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::uint64_t length = 0;
    bool conventional = false;
    std::atomic<std::uint64_t> capacity = 0;
    std::atomic<std::uint64_t> pointer = 0;
    std::atomic<bool> by_commands = false;
    std::atomic<bool> random_area = false;
    std::atomic<Cached> cached = Cached::kUnknown;
  };
  std::unique_ptr<Entry[]> zones_;
};

}  // namespace zenfs
