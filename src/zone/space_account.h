// The space account: what is live, garbage and free (SpaceReport), which zones are empty, and for whom (EmptyZones), and who may
// still write how many bytes (SpaceAccount). docs/internals/space.md explains it.
//
// Threads: not thread-safe; the owner locks. Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/assert.h"
#include "model/units.h"
#include "zone/zone_states.h"

namespace zenfs {

// The space of a mounted volume in bytes. total = metadata + log + reclaim + live + garbage + free + lost.
// `free` is the room that AllocateData can grant now, after pending resets, or once the collector has reduced
// the share of the log. If space gets short, reclaim turns most of the garbage into free space.
struct SpaceReport {
  std::uint64_t total = 0;
  std::uint64_t metadata = 0;  // capacity of metadata zones
  std::uint64_t log = 0;       // capacity of zones of the log, or kept for it
  std::uint64_t reclaim = 0;   // headroom for copies of live data
  std::uint64_t live = 0;      // file data with padding
  std::uint64_t garbage = 0;   // dead or uncommitted bytes in zones that cannot be reset yet
  std::uint64_t free = 0;
  std::uint64_t log_limit = 0;  // bytes of the zones that the log may take; not part of the sum
  std::uint64_t lost = 0;       // capacity without live data in offline, read-only and retired zones

  // Parts of `metadata`, `log` and `live`; only a read-only mount fills them (volume/reader/reader_volume.h), otherwise 0.
  std::uint64_t metadata_used = 0;  // written bytes of metadata zones
  std::uint64_t log_used = 0;       // live frames of files
  std::uint64_t log_garbage = 0;    // all other written bytes of log zones
  std::uint64_t padding = 0;        // rest of the last block of each extent

  // The log holds `bytes` that it can do without.
  void CountSpareOfLog(std::uint64_t bytes) {
    const std::uint64_t held = std::min(bytes, log);
    log -= held;
    free += held;
  }

  // The sums that commands and the exporter show: total = used + reclaimable + reserved + free + lost.
  std::uint64_t used() const { return live + log_used + metadata_used; }
  std::uint64_t reclaimable() const { return garbage + log_garbage; }
  // Unwritten space that data does not get.
  std::uint64_t reserved() const { return metadata - metadata_used + log - log_used - log_garbage + reclaim; }
};

// The empty zones, the number of zones that a reset will make empty, and the number that is kept for the log.
//
// The log's share: the zones that the log is short of, and at least one while the log waits. The log takes it, and copies do as a
// last resort. Data never does, but the collector reduces the share to what the log can't do without when nothing else can be gained.
//
// If the log uses sync blocks (wal/zrwa_sync_blocks.h) or has a device of its own, one empty zone is the spare for a mount, which must
// write to the log before reclaim can move anything. Nobody else takes it, and it counts for nobody.
//
// Invariants
//   each zone in phase kEmpty is here once; each zone in phase kDead counts in pending_resets()
//   log_zones() counts the zones that the log holds
//
// Units: zones.
class EmptyZones {
 public:
  // All other log zones may be full of frames that the mount recovers, and it must write those of sync blocks
  // (volume/mount/recovery.h).
  static constexpr std::size_t kSpareForMount = 1;

  struct LogShare {
    std::uint32_t needs = 0;  // number of zones that the log needs to be fast
    std::uint32_t least = 0;  // those that it can't do without
    std::uint32_t spare = 0;  // those that only a mount takes
    std::uint32_t group = 1;  // those that it takes at once, if there is enough room
  };
  explicit EmptyZones(LogShare log) : log_(log) { ZENFS_ASSERT(log.least <= log.needs); }

  // Without the spare.
  std::size_t size() const { return WithoutSpare(all()); }
  bool empty() const { return size() == 0; }
  // True if there is a zone, be it the spare.
  bool HasForMount() const { return all() != 0; }
  std::size_t all() const { return zones_.size(); }
  // Removes the zone that was empty for the longest time, to spread wear. Precondition: !empty(), or HasForMount() in a mount.
  ZoneId Allocate();
  void Add(ZoneId zone) { zones_.push_back(zone); }
  // Returns a zone that was allocated and not written. It is allocated next.
  void ReleaseUnwritten(ZoneId zone) { zones_.push_front(zone); }

  // --- resets, queued or running ---
  std::size_t pending_resets() const { return pending_resets_; }
  void BeginReset() { ++pending_resets_; }
  void EndReset();
  // Empty zones after all pending resets, without the spare, and with it.
  std::size_t size_after_resets() const { return WithoutSpare(all_after_resets()); }
  std::size_t all_after_resets() const { return all() + pending_resets_; }

  // --- the log's share ---
  std::uint32_t log_zones() const { return log_zones_; }
  void CountLogZone() { ++log_zones_; }
  void DiscountLogZone();
  // Fewer empty zones than these are short supply, on a device of `zones` zones.
  std::size_t few(std::size_t zones) const { return kept_for_log() + std::max<std::size_t>(2, zones / 32); }
  std::size_t kept_for_log() const { return share_reduced_ ? least_kept_for_log() : all_kept_for_log(); }
  std::size_t all_kept_for_log() const { return MissingOf(log_.needs); }
  std::size_t least_kept_for_log() const { return MissingOf(log_.least); }
  // Reduces the share to the least. Returns false if it is the least already.
  bool ReduceLogShare();
  void RestoreLogShare() { share_reduced_ = false; }
  // While this is true, the log takes no zone ahead of use.
  bool log_share_reduced() const { return share_reduced_; }
  std::uint32_t log_group() const { return log_.group; }
  // The log begins or ends to wait for a zone that it needs now.
  void LogWaits(bool begins);
  // True if data may take a zone now, or after all pending resets.
  bool HasSpare() const { return size() > kept_for_log(); }
  bool WillHaveSpare() const { return size_after_resets() > kept_for_log(); }

 private:
  std::size_t WithoutSpare(std::size_t zones) const {
    return zones - std::min<std::size_t>(zones, log_.spare);
  }
  std::size_t MissingOf(std::uint32_t wanted) const {
    const std::uint32_t missing = wanted > log_zones_ ? wanted - log_zones_ : 0;
    return std::max(missing, log_waits_ == 0 ? 0U : 1U);
  }

  const LogShare log_;
  std::deque<ZoneId> zones_;
  std::size_t pending_resets_ = 0;
  std::uint32_t log_zones_ = 0;  // allocated to the log
  int log_waits_ = 0;
  bool share_reduced_ = false;
};

// Who may still write how many bytes without a reset. Room goes to copies of live data first, then to the log, then to data. Data is
// promised room for a whole write, at most a zone, and is granted room for each zone that it writes.
//
// Invariants
//   granted() is the sum of `granted` of all zones; promised() is the sum of `promised` of all claims
//   after a grant to data, and after an allocation for the log outside a mount, copies can take the whole headroom
//   without a headroom nothing is promised
//
// Ownership: the table and the empty zones outlive it. Units: bytes.
class SpaceAccount {
 public:
  // `headroom`: for a group of log zones.
  SpaceAccount(const ZoneTable& table, const EmptyZones& empty, std::uint32_t block_size,
               std::uint64_t headroom)
      : table_(table), empty_(empty), block_size_(block_size), headroom_(headroom) {}

  std::uint64_t headroom() const { return headroom_; }
  // The most that is promised to a write: a zone; nothing if there is no headroom.
  std::uint64_t most_promised() const { return headroom_ / empty_.log_group(); }
  std::uint64_t granted() const { return granted_; }    // to all writers of data
  std::uint64_t promised() const { return promised_; }  // to claims, not granted yet

  // The mean capacity of empty zones and those being reset; the device may have changed some capacities.
  std::uint64_t MeanZone() const;
  // Bytes that copies may write: all room, less the bytes that are granted or promised to data.
  std::uint64_t ForCopies() const;
  // Bytes that a writer of data may take: its own promise, or, without one, all bytes beyond the headroom that are not
  // granted or promised. If zones failed since the promise, less than the promise may be left.
  std::uint64_t ForData(std::uint64_t own_promise) const;
  bool HasBlockForData(std::uint64_t own_promise) const { return ForData(own_promise) >= block_size_; }
  // True if the headroom stays whole when the log takes an empty zone.
  bool SparesHeadroomForLog() const { return ForCopies() >= headroom_ + MeanZone(); }
  // True if data could take a zone besides the headroom and all of the log's share.
  bool SparesLogShare() const {
    return RoomBeside(empty_.all_kept_for_log()) >= headroom_ + granted_ + promised_ + MeanZone();
  }
  // True if copies can take the headroom. Tolerates one block, because MeanZone is rounded.
  bool HeadroomIsFree() const { return ForCopies() + block_size_ >= headroom_; }

  // Raises `promise`, the promise to one claim, to `wanted` bytes. Returns false if there is too little room and
  // nothing was promised before.
  bool Promise(std::uint64_t& promise, std::uint64_t wanted);
  void ReleasePromise(std::uint64_t& promise);
  // Grants a writer of data as much of `room`, the room of its zone, as it may take. Reduces the promise by it, and
  // returns the bytes.
  std::uint64_t Grant(std::uint64_t& promise, std::uint64_t room);
  // `bytes` of a grant were written or given up.
  void ReleaseGrant(std::uint64_t bytes);

  // `log_apart`: the log has a device of its own.
  SpaceReport Report(bool log_apart) const;

 private:
  // Room in active zones, and in all empty zones but those that are `kept` for the log.
  std::uint64_t RoomBeside(std::size_t kept) const;

  const ZoneTable& table_;
  const EmptyZones& empty_;
  const std::uint32_t block_size_;
  const std::uint64_t headroom_;
  std::uint64_t granted_ = 0;
  std::uint64_t promised_ = 0;
};

}  // namespace zenfs
