// The writers of data and copies: which zone and how much room each gets, and what its writes did to the zone.
//
// Take follows this order: the claimed zone, if it has room, or a wait for another file's write there; then the order
// of ChooseZone; then a wait, while a reset, a finish, a writer or reclaim may make room; otherwise no space. Before all
// of this, data waits if its write would take from the headroom.
//
// Invariants
//   a zone has at most one writer; a writer's zone holds a slot of SlotBudget
//   data never gets the last `headroom` bytes of room, so the live data of any one zone, or of a group of log zones, can always be moved
//
// Ownership: the parts and the phases outlive it. Threads: not thread-safe; the owner locks. Units: bytes.
// Cost: Take is O(active zones), the others O(1).
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/lifetime.h"
#include "zone/placement.h"
#include "zone/zone_allocation.h"
#include "zone/zone_phases.h"
#include "zone/zone_pool_parts.h"

namespace zenfs {

class DataWriters {
 public:
  // After the device refused to activate another zone, no zone is opened for this time.
  static constexpr std::chrono::milliseconds kBusyPause{20};
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  DataWriters(ZonePoolParts& parts, ZonePhases& phases) : parts_(parts), phases_(phases) {}

  // Chooses a zone, moves the claim to it and takes its writer. Data gets room for all of `wanted` bytes promised
  // first, at most a zone, so that it does not wait again when it is partly written. The writer gets room for at most
  // `most` bytes; the rest stays promised.
  TakenZone Take(ClaimState& claim, Lifetime lifetime, WritePurpose purpose, SteadyTime now,
                 std::uint64_t wanted = 0, std::uint64_t most = kNoLimit);
  // Gives up the claim on the zone and the promised room.
  void Unclaim(ClaimState& claim);
  void TakeBackPromise(ClaimState& claim);
  // The writer wrote `bytes`. Adds a pin to the zone, which the caller must drop with LiveCounts::Unpin.
  void Wrote(ZoneId zone, std::uint64_t bytes);
  // A write failed with `code`; `info` is the zone report after it. Returns the code for the caller of the writer:
  // kZoneFull, kBusy if nothing was written, or, if the zone was retired, `code` with kBusy replaced by kIo.
  Code WriteFailed(ZoneId zone, Code code, const std::optional<ZoneInfo>& info, SteadyTime now);
  void EndWriter(ZoneId zone);

 private:
  TakenZone Begin(ZoneId zone, ClaimState& claim, Lifetime lifetime, WritePurpose purpose,
                  std::uint64_t most);
  void LeaveZone(ClaimState& claim);
  EmptyZoneUse UseOfEmpty(WritePurpose purpose, SteadyTime now) const;
  // Data may not write a block. NoBlock also ends the promise of the claim.
  TakenZone NoBlock(ClaimState& claim);
  TakenZone NoRoom();
  // No active zone can be used, now or after a writer ends.
  TakenZone NothingUsable(const ClaimState& claim, WritePurpose purpose, SteadyTime now) const;

  ZonePoolParts& parts_;
  ZonePhases& phases_;
  SteadyTime open_again_at_ = SteadyTime::min();
};

}  // namespace zenfs
