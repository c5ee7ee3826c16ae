// The host's cache of what a device holds: the kernel's page cache, or a model of it. What it holds costs no command.
//
// It is for callers that want the bytes of a file and do not ask where they come from. Reads that prove something about the
// device go to the device itself (ZonedDevice::Read): recovery, check, scrub, verification of copies, backups.
//
// Coherence: bytes below the write pointer of a zone are those on the device, also after the zone was reset and written again.
// The caller reads no others: a cache may keep what was beyond the write pointer.
//
// Units: bytes; no offset, length or address needs to be aligned. A range does not cross the end of a zone. Threads: any.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "model/units.h"

namespace zenfs {

struct CachedRead {
  DeviceOffset offset;
  ByteSpan into;
  Status status;
};

enum class CacheAdvice {
  kWillNeed,  // begins to fill the cache with the range, and returns
  kDontNeed,  // drops the range from the cache
};

class HostCache {
 public:
  virtual ~HostCache() = default;

  // Fills `into` of each read and sets its status. Those that the cache does not hold are read from the device together, and
  // kept. Errors: those of ZonedDevice::Read; the device may still return the bytes, because a cache reads more around them.
  virtual void Read(std::span<CachedRead> reads) = 0;
  // A hint; errors are ignored.
  virtual void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) = 0;
};

}  // namespace zenfs
