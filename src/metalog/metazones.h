// Selects and empties the metadata zones of a volume for new generations.
//
// The metadata zones are those of the superblock, and zones that were added since because the snapshot got too large for
// them. The headers of a generation name the added ones. Each generation begins in zones of the superblock, so a reader finds
// its added zones there.
//
//   fresh --NoteSwitched--> added --Retire--> retired --NoteSwitched--> superseded --FreeSuperseded--> given back
//
// A fresh zone is named by the next generation. Until that is current its room does not count, because a mount would not have
// it. A mount takes a zone for a metadata zone if the headers of the current generation name it; others, which a torn write may
// bring back, do not count. A retired zone is not named by new generations. It is superseded once one of them is current, and
// is given back when the next log switch has emptied it: until then the generation before the current one stays whole.
//
// Each metadata zone in use has a copy of the superblock; the copies in the zones of the current generation may be
// damaged. So if no kept zone has a valid copy, the last valid copy elsewhere is not reset, unless no other zone is left
// for the next generation.
//
// Threads: any. mutex_ is a leaf and not held during I/O. Only one log switch at a time calls Take and ResetAllBut.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
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
    kNotReset,  // its last reset failed; not used until one succeeds
    kBad,       // a write failed, or it is read-only; not used again in this mount
  };
  struct Target {
    ZoneId zone;
    std::uint64_t capacity = 0;  // bytes; a reset may change it
  };

  // `device` must outlive this. `added`: the metadata zones besides those of the superblock.
  Metazones(ZonedDevice& device, const Superblock& superblock, const std::vector<ZoneId>& added = {});

  void Distrust(ZoneId zone, Trust trust) EXCLUDES(mutex_);
  // Distrusts a zone because of the error of a write. kBusy means that no slot is free; the zone itself is good.
  void WriteFailed(ZoneId zone, const Error& error) EXCLUDES(mutex_);
  // kNoSpace, with the reason why no zone is left, and with the error of the last write that failed.
  [[nodiscard]] Error NoneLeft(std::string_view why) const EXCLUDES(mutex_);
  // Number of zones that a mount would have: those of the superblock and the added ones that can be written.
  std::uint32_t usable() const EXCLUDES(mutex_);
  // Number of zones in which a generation may begin: those of the superblock that can be written and are not in `keep`.
  std::uint32_t Others(std::span<const ZoneId> keep) const EXCLUDES(mutex_);
  // All zones, those of the superblock first.
  std::vector<ZoneId> zones() const EXCLUDES(mutex_);
  std::size_t size() const EXCLUDES(mutex_);  // of zones()
  // The zones that a new generation names, ascending: the added and the fresh ones.
  std::vector<ZoneId> named() const EXCLUDES(mutex_);
  bool HasFresh() const EXCLUDES(mutex_);

  // `zones`: fresh ones; empty, and used by nothing else. No generation is being written.
  void Add(std::span<const ZoneId> zones) EXCLUDES(mutex_);
  // Retires the `count` added zones with the highest numbers.
  void Retire(std::size_t count) EXCLUDES(mutex_);
  // A generation is current that names the fresh zones, and does not name the retired ones.
  void NoteSwitched() EXCLUDES(mutex_);
  // Forgets and returns the superseded zones that are empty. Call it after ResetAllBut.
  std::vector<ZoneId> FreeSuperseded() EXCLUDES(mutex_);

  // Returns true if a zone of `among` has a valid copy of this volume's superblock.
  bool HoldSuperblock(std::span<const ZoneId> among) const;
  // Returns true if each zone of `among` has one.
  bool AllHoldSuperblock(std::span<const ZoneId> among) const;

  // Empties all zones that are not in `keep`. If `keep` is not empty, it spares the last copy of the superblock: that zone
  // is finished. A zone that cannot be reset is not used until it can; that is not an error.
  void ResetAllBut(std::span<const ZoneId> keep) EXCLUDES(mutex_);
  // Empties one zone and flushes. Returns false if the zone cannot be emptied durably, or holds the last copy of the
  // superblock outside `keep`. An offline zone counts as empty: no mount can read it, and no transition
  // leads out of that state (NVMe ZNS, ZSO:Offline).
  bool EmptyFirst(ZoneId zone, std::span<const ZoneId> keep) EXCLUDES(mutex_);
  // If more than `spare` zones outside `keep` are active, finishes all of them. A zone that cannot be finished is reset,
  // unless it holds the last copy of the superblock.
  void FinishSuperseded(std::span<const ZoneId> keep, std::size_t spare) EXCLUDES(mutex_);

  // Finishes active zones that are not metadata zones, the fullest first, until at most `limit` are active. A power loss
  // may have left all slots to data zones. Call this before data is written.
  void LimitOthers(std::size_t limit);

  // What Take may choose from.
  struct Choice {
    std::span<const ZoneId> keep;  // zones with contents that are needed
    std::span<const ZoneId> own;   // those of the generation being written
    ZoneId after;                  // prefers the next one after it, round robin
    // The added zones that the generation names. The first place of a generation takes a zone of the superblock. Later ones
    // prefer these, and leave enough zones of the superblock for the next generation to begin in.
    std::span<const ZoneId> added;
    bool first_place = true;
  };
  // Empties and returns a zone outside `keep` and `own`. Errors: kNoSpace if none is left.
  [[nodiscard]] Result<Target> Take(const Choice& choice) EXCLUDES(mutex_);

 private:
  static bool CanBeWritten(Trust trust) { return trust < Trust::kNotReset; }
  Trust trust(ZoneId zone) const EXCLUDES(mutex_);
  // The zones that Take may choose from, best first.
  std::vector<ZoneId> Candidates(const Choice& choice) const EXCLUDES(mutex_);
  // If no zone of `keep` has a valid copy of the superblock: the first other zone that has one, else the first other zone
  // that could not be read. Otherwise nothing.
  std::optional<ZoneId> LastCopy(std::span<const ZoneId> keep) const;
  // Nothing if the report or the read fails.
  std::optional<bool> HoldsSuperblock(ZoneId zone) const;
  // Nothing if the report fails.
  std::optional<ZoneCondition> Condition(ZoneId zone) const;
  // Returns true if the zone is known to be active.
  bool HoldsSlot(ZoneId zone) const;
  // Resets the zone unless it is empty, and returns its capacity. Notes the outcome in trust_.
  Result<std::uint64_t> MakeEmpty(ZoneId zone) EXCLUDES(mutex_);
  Result<std::uint64_t> TryToMakeEmpty(ZoneId zone);

  ZonedDevice& device_;
  const Superblock superblock_;
  const std::vector<ZoneId>& own_zones_ = superblock_.metadata_zones;
  const MetazoneLayout layout_;
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  std::map<ZoneId, Trust> trust_ GUARDED_BY(mutex_);
  std::set<ZoneId> fresh_ GUARDED_BY(mutex_);
  std::set<ZoneId> added_ GUARDED_BY(mutex_);
  std::set<ZoneId> retired_ GUARDED_BY(mutex_);
  std::set<ZoneId> superseded_ GUARDED_BY(mutex_);
  std::optional<Error> write_error_ GUARDED_BY(mutex_);  // of the last zone that it cost
};

}  // namespace zenfs
