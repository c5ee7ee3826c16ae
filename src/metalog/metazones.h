// Selects and empties the metadata zones of a volume for new generations.
//
// Each metadata zone in use has a copy of the superblock; the copies in the zones of the current generation may be
// damaged. So if no kept zone has a valid copy, the last valid copy elsewhere is not reset, unless no other zone is left
// for the next generation.
//
// Threads: any. mutex_ is a leaf and not held during I/O. Only one log switch at a time calls Take and ResetAllBut.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"

namespace zenfs {

// Offsets in a metadata zone, in bytes from its start.
struct MetazoneLayout {
  explicit MetazoneLayout(std::uint32_t block_size);

  std::uint32_t block_size;
  std::uint64_t header_at;  // the log header frame, after the superblock
  std::uint64_t frames_at;  // all other frames
};

// Returns true if the device allows as many active zones as two copies of the log take.
[[nodiscard]] bool AllowsTwoCopies(const Geometry& geometry);
// The number of zones in which the log of the volume is written at a time: 2 if the superblock says so and the device
// allows it, otherwise 1.
[[nodiscard]] std::uint32_t CopiesOf(const Superblock& superblock, const Geometry& geometry);

class Metazones {
 public:
  enum class Trust {
    kGood,
    kEndedEarly,  // the device made it full before its capacity was written; used again only if no good one is left
    kBad,         // a write or reset failed, or it is read-only or offline; not used again in this mount
  };
  struct Target {
    ZoneId zone;
    std::uint64_t capacity = 0;  // bytes; a reset may change it
  };

  // `device` must outlive this.
  Metazones(ZonedDevice& device, const Superblock& superblock);

  void Distrust(ZoneId zone, Trust trust) EXCLUDES(mutex_);
  // Number of zones that are not bad.
  std::uint32_t usable() const EXCLUDES(mutex_);
  // Number of zones that are neither bad nor in `keep`.
  std::uint32_t Others(std::span<const ZoneId> keep) const EXCLUDES(mutex_);
  const std::vector<ZoneId>& zones() const { return zones_; }

  // Returns true if a zone of `among` has a valid copy of this volume's superblock.
  bool HoldSuperblock(std::span<const ZoneId> among) const;
  // Returns true if each zone of `among` has one.
  bool AllHoldSuperblock(std::span<const ZoneId> among) const;

  // Empties all zones that are not in `keep`. If `keep` is not empty, it spares the last copy of the superblock: that zone
  // is finished. Zones that cannot be reset become bad; that is not an error.
  void ResetAllBut(std::span<const ZoneId> keep) EXCLUDES(mutex_);
  // Empties one zone and flushes. Returns false if the zone cannot be emptied durably, or holds the last copy of the
  // superblock outside `keep`.
  bool EmptyFirst(ZoneId zone, std::span<const ZoneId> keep) EXCLUDES(mutex_);
  // If more than `spare` zones outside `keep` are active, finishes all of them. A zone that cannot be finished is reset,
  // unless it holds the last copy of the superblock.
  void FinishSuperseded(std::span<const ZoneId> keep, std::size_t spare) EXCLUDES(mutex_);

  // Finishes active zones that are not metadata zones, the fullest first, until at most `limit` are active. A power loss
  // may have left all slots to data zones. Call this before data is written.
  void LimitOthers(std::size_t limit);

  // Empties and returns a zone outside `keep` and `own`; prefers the next one after `after`, round robin.
  // `own`: the zones of the generation being written. Errors: kNoSpace if none is left.
  [[nodiscard]] Result<Target> Take(std::span<const ZoneId> keep, std::span<const ZoneId> own, ZoneId after)
      EXCLUDES(mutex_);

 private:
  Trust trust(ZoneId zone) const EXCLUDES(mutex_);
  // If no zone of `keep` has a valid copy of the superblock: the first other zone that has one, else the first other zone
  // that could not be read. Otherwise nothing.
  std::optional<ZoneId> LastCopy(std::span<const ZoneId> keep) const;
  // Nothing if the report or the read fails.
  std::optional<bool> HoldsSuperblock(ZoneId zone) const;
  // Nothing if the report fails.
  std::optional<ZoneCondition> Condition(ZoneId zone) const;
  // Returns true if the zone is known to be active.
  bool HoldsSlot(ZoneId zone) const;
  // Resets the zone unless it is empty, and returns its capacity.
  Result<std::uint64_t> MakeEmpty(ZoneId zone) EXCLUDES(mutex_);

  ZonedDevice& device_;
  const Superblock superblock_;
  const std::vector<ZoneId>& zones_ = superblock_.metadata_zones;
  const MetazoneLayout layout_;
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  std::map<ZoneId, Trust> trust_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
