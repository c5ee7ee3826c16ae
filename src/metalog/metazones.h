// The metadata zones of a volume as places to write a generation to: which may be used, and making them
// empty.
//
// A copy of the superblock stands in each of them, and may be damaged in those that a generation is read from. So a zone
// with a valid copy is not emptied while no zone that is kept has one: the last copy goes only when there is no other zone
// to write the next one to.
//
// Threads: any; mutex_ is a leaf and not held during I/O. Take and ResetAllBut are called by one log switch at a
// time.
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

// Where things stand in a metadata zone, in bytes from its start.
struct MetazoneLayout {
  explicit MetazoneLayout(std::uint32_t block_size);

  std::uint32_t block_size;
  std::uint64_t header_at;  // the log-header frame, behind the superblock
  std::uint64_t frames_at;  // all other frames
};

class Metazones {
 public:
  enum class Trust {
    kGood,
    kEndedEarly,  // the device turned it full by itself: used again only when no good one is left
    kBad,         // writes or resets failed, read-only or offline: not used again in this mount
  };
  struct Target {
    ZoneId zone;
    std::uint64_t capacity = 0;  // bytes; may differ from what it was before its reset
  };

  // `device` must outlive this.
  Metazones(ZonedDevice& device, const Superblock& superblock);

  void Distrust(ZoneId zone, Trust trust) EXCLUDES(mutex_);
  // Zones that are not bad.
  std::uint32_t usable() const EXCLUDES(mutex_);
  // Whether there is one that is neither bad nor in `keep`.
  bool HasOther(std::span<const ZoneId> keep) const EXCLUDES(mutex_);
  const std::vector<ZoneId>& zones() const { return zones_; }

  // Whether one of `among` has a valid copy of this volume's superblock.
  bool HoldSuperblock(std::span<const ZoneId> among) const;

  // Empties every zone that holds something and is not in `keep`, but for a last copy of the superblock, unless `keep` is
  // empty. One that cannot be reset becomes bad; that is no error.
  void ResetAllBut(std::span<const ZoneId> keep) EXCLUDES(mutex_);
  // Empties one zone, durably, before others are. False if that can't be, or if it would take the last copy of the superblock
  // beside `keep`.
  bool EmptyFirst(ZoneId zone, std::span<const ZoneId> keep) EXCLUDES(mutex_);
  // If more than `spare` zones that are not in `keep` are active, takes all of those out of the device's active zones;
  // they stay readable if the device can finish them.
  void FinishSuperseded(std::span<const ZoneId> keep, std::size_t spare) EXCLUDES(mutex_);

  // Finishes active zones that are not the metadata log's, the fullest first, until at most `limit` are active. For the
  // time before anybody else writes: the power may have gone in the middle of a change, and left all slots to others.
  void LimitOthers(std::size_t limit);

  // An empty zone that is neither in `keep` nor in `own`, which is what was written of a generation that is not complete:
  // the next behind `after`, in a circle, if there is a choice. Errors: kNoSpace when none is left.
  [[nodiscard]] Result<Target> Take(std::span<const ZoneId> keep, std::span<const ZoneId> own, ZoneId after)
      EXCLUDES(mutex_);

 private:
  Trust trust(ZoneId zone) const EXCLUDES(mutex_);
  // The zone outside `keep` that has a valid copy of the superblock, if none of `keep` has one; the first if there are
  // several. If no other has one, the first of which that can't be told.
  std::optional<ZoneId> LastCopy(std::span<const ZoneId> keep) const;
  // Nothing if it can't be told.
  std::optional<bool> HoldsSuperblock(ZoneId zone) const;
  // Nothing if the device does not tell.
  std::optional<ZoneCondition> Condition(ZoneId zone) const;
  // One of the device's active slots, as far as it can be told.
  bool HoldsSlot(ZoneId zone) const;
  // The zone's capacity if it is, or could be made, empty.
  Result<std::uint64_t> MakeEmpty(ZoneId zone) EXCLUDES(mutex_);

  ZonedDevice& device_;
  const Superblock superblock_;
  const std::vector<ZoneId>& zones_ = superblock_.metadata_zones;
  const MetazoneLayout layout_;
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  std::map<ZoneId, Trust> trust_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
