// The account of room: who may still write how many bytes without a reset (docs/internals/space.md).
//
// Room goes to copies of live data first, then to the log, then to data. Data is promised room for a whole write,
// at most a zone, and is granted room for each zone that it writes.
//
// Invariants
//   granted() is the sum of `granted` of all zones; promised() is the sum of `promised` of all claims
//   after a grant to data, and after the log took a zone without borrowing, copies can take the whole headroom
//   without a headroom nothing is promised
//
// Ownership: the table and the empty zones outlive it. Threads: not thread-safe; the owner locks. Units: bytes.
// Errors: none.
#pragma once

#include <cstdint>

#include "zone/empty_zones.h"
#include "zone/zone_table.h"

namespace zenfs {

class RoomAccount {
 public:
  // `headroom`: for a group of log zones.
  RoomAccount(const ZoneTable& table, const EmptyZones& empty, std::uint32_t block_size,
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
  void VoidPromise(std::uint64_t& promise);
  // Grants a writer of data as much of `room`, the room of its zone, as it may take. Reduces the promise by it, and
  // returns the bytes.
  std::uint64_t Grant(std::uint64_t& promise, std::uint64_t room);
  // `bytes` of a grant were written or given up.
  void EndGrant(std::uint64_t bytes);

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
