// The kernel's page cache of a device: buffered reads of a block device's node, or of the files of a zonefs.
//
// Direct writes and resets through the kernel drop what the cache holds of their range, so that later reads see the device. What
// commands of the drive write or reset, the kernel does not see: CacheTarget::PlaceCached refuses such a zone.
//
// A page must not hold bytes of two blocks (PagesFit): with the last written block, it would keep what was behind it before the next
// write. The kernel drops such a page before a write, but not always after it (asynchronous writes of a block device, appends of a
// zonefs).
//
// The descriptors are open with POSIX_FADV_RANDOM: the kernel reads only what was asked for, never beyond a write pointer. Who
// reads a file in order says so by CacheAdvice::kWillNeed, within the file.
//
// Threads: any.
#pragma once

#include <cstdint>

#include "backends/host/data_path.h"
#include "backends/host/plain_io.h"
#include "base/unique_fd.h"
#include "device/zoned_device.h"

namespace zenfs {

class CacheTarget {
 public:
  virtual ~CacheTarget() = default;
  // Where the cache holds the range. Errors: kInvalidArgument for a range that is not on the device; kNotSupported for a zone
  // that must not be read through the cache; those of opening a file.
  [[nodiscard]] virtual Result<IoPlace> PlaceCached(DeviceOffset offset, std::uint64_t length) = 0;
};

class KernelCache final : public HostCache {
 public:
  // `target` outlives this object.
  explicit KernelCache(CacheTarget& target) : target_(target) {}

  void Read(std::span<CachedRead> reads) override;
  void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) override;

 private:
  void ReadOne(CachedRead& read);

  CacheTarget& target_;
};

// True if a device with blocks of this size can be read through the cache.
[[nodiscard]] bool PagesFit(std::uint32_t block_size);

// A descriptor for reads through the cache, of what `direct` has open. Errors: those of the host.
[[nodiscard]] Result<UniqueFd> OpenBuffered(int direct);

}  // namespace zenfs
