// The zone state machine of the NVMe Zoned Namespace command set specification: one function per command,
// one `switch (condition)` in each. Pure: no data, no I/O, no time, no locks.
//
//              write, append                 write up to the capacity, Finish
//   empty ------------------> implicitly open --------------------------------> full
//     |                          |        ^                                      ^
//     | Open                Open |        | write, append                        | Finish (from any of
//     v                          v        |                                      | these and from empty)
//   explicitly open <------------+     closed <-- Close, or implicitly: when another zone needs an open
//     |                                   ^       slot, the implicitly open zone written longest ago
//     +-----------------------------------+
//   Reset: any of these -> empty.   read-only, offline: only by the device's own failing (SetCondition)
//
// OpenRandom opens an empty zone with a random write area (RandomWindow). It keeps the area while it is open or closed.
// When it becomes full or fails, the blocks of the area count as written and the area is gone.
//
// Invariants
//   open zones <= max_open, open + closed zones <= max_active      (a limit of 0 means: none)
//   written <= capacity; empty has written == 0; an open or closed zone has written < capacity
//   only open and closed zones have an area, at most random_zones of them; its pointer is a multiple of the commit unit
//
// Units: blocks, counted from the start of the zone. Threads: not thread-safe; the caller locks.
//
// Errors, as device/zoned_device.h has them: kBusy (a limit), kZoneFull, kReadOnly, kNotFound (offline),
// kInvalidArgument (all else the host did wrong).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/emulator/emulator_geometry.h"
#include "base/bytes.h"
#include "base/status.h"
#include "device/zone_info.h"

namespace zenfs {

// The state of a zone.
struct MachineZone {
  ZoneCondition condition = ZoneCondition::kEmpty;
  std::uint64_t written = 0;  // blocks up to the write pointer; kept when the zone is finished or fails
  bool random_area = false;

  friend bool operator==(const MachineZone&, const MachineZone&) = default;
};

// kCorruption if the zone machine never leaves a zone in this state. Does not check limits of the device.
[[nodiscard]] Status CheckPossible(const EmulatorGeometry& geometry, ZoneId zone, MachineZone state);

// The part of a zone with a random write area that may be written (ZonedDevice::OpenRandom).
//
//   start            end of the window            end of the implicit commit
//   |---- area ------|---------- area ------------|
//   a write in here  a write that ends in here first moves `start` up, by a multiple of `unit`
//
// Both ends are cut at the capacity. `start` is a multiple of `unit`, because a zone is empty when it gets its area.
struct RandomWindow {
  std::uint64_t start = 0;  // the write pointer
  std::uint64_t area = 0;
  std::uint64_t unit = 0;
  std::uint64_t capacity = 0;

  constexpr std::uint64_t end() const { return std::min(capacity, start + area); }
  // A write beyond the capacity is another error.
  constexpr bool TakesWrite(std::uint64_t block, std::uint64_t write_end) const {
    return block >= start && write_end <= start + 2 * area;
  }
  // The write pointer after a write that ends there. Below the capacity, as `unit` <= `area`.
  constexpr std::uint64_t PointerAfterWrite(std::uint64_t write_end) const {
    return write_end <= start + area ? start : start + RoundUp(write_end - area - start, unit);
  }
  constexpr bool TakesCommit(std::uint64_t to) const {
    return to > start && to <= end() && (to % unit == 0 || to == capacity);
  }
};

// Counts the zones that the device's limits are about.
class ZoneCounts {
 public:
  std::uint32_t open() const { return explicitly_open_ + implicitly_open_; }
  std::uint32_t implicitly_open() const { return implicitly_open_; }
  std::uint32_t active() const { return open() + closed_; }
  std::uint32_t random_areas() const { return random_areas_; }

  void Replace(MachineZone before, MachineZone after) {
    Count(before, ~std::uint32_t{0});  // -1
    Count(after, 1);
  }

 private:
  void Count(MachineZone zone, std::uint32_t step) {
    if (zone.condition == ZoneCondition::kExplicitlyOpen) explicitly_open_ += step;
    if (zone.condition == ZoneCondition::kImplicitlyOpen) implicitly_open_ += step;
    if (zone.condition == ZoneCondition::kClosed) closed_ += step;
    if (zone.random_area) random_areas_ += step;
  }

  std::uint32_t explicitly_open_ = 0;
  std::uint32_t implicitly_open_ = 0;
  std::uint32_t closed_ = 0;
  std::uint32_t random_areas_ = 0;
};

class ZoneMachine {
 public:
  // All zones are empty. `geometry` must be valid.
  explicit ZoneMachine(const EmulatorGeometry& geometry);

  // Replaces the state of a zone without checking limits. kCorruption if the state is impossible.
  [[nodiscard]] Status Restore(ZoneId zone, MachineZone state);

  MachineZone state(ZoneId zone) const { return zones_[zone.value].state; }
  ZoneInfo Info(ZoneId zone) const;
  // The random write area of a zone that has one.
  RandomWindow Window(ZoneId zone) const;
  const ZoneCounts& counts() const { return counts_; }

  // Returns how many of the `count` blocks come from the medium. The others (beyond the written
  // part of a full or read-only zone) read as zeros. All blocks of a random write area come from the medium.
  [[nodiscard]] Result<std::uint64_t> CheckRead(ZoneId zone, std::uint64_t block, std::uint64_t count) const;

  // A write: BeginWrite, then the caller transfers the data, then CommitWrite. Without CommitWrite
  // the zone stays open and its write pointer does not move, except to move the random write area. One
  // write at a time per zone. CommitWrite takes the same blocks.
  [[nodiscard]] Status BeginWrite(ZoneId zone, std::uint64_t block, std::uint64_t count);
  // Returns the block at which the data must be written.
  [[nodiscard]] Result<std::uint64_t> BeginAppend(ZoneId zone, std::uint64_t count);
  void CommitWrite(ZoneId zone, std::uint64_t block, std::uint64_t count);

  [[nodiscard]] Status Reset(ZoneId zone);
  [[nodiscard]] Status Finish(ZoneId zone);
  [[nodiscard]] Status Open(ZoneId zone);
  [[nodiscard]] Status Close(ZoneId zone);
  // An empty zone gets a random write area, whose blocks must read as zeros. kNotSupported if the device has none.
  [[nodiscard]] Status OpenRandom(ZoneId zone);
  // Moves the write pointer of a zone with an area up to `block`.
  [[nodiscard]] Status CommitRandom(ZoneId zone, std::uint64_t block);

  // A change by the device itself: a zone fails (kReadOnly, kOffline), or the controller ends it
  // (kFull).
  [[nodiscard]] Status SetCondition(ZoneId zone, ZoneCondition condition);

  // The zones whose state the last command changed, in that order. A zone that lost its open slot
  // comes before the zone that got it, so that the limits hold if the states are stored one by one.
  const std::vector<ZoneId>& changed() const { return changed_; }

 private:
  struct Zone {
    MachineZone state;
    std::uint64_t last_written = 0;  // tick; picks the zone to close implicitly
  };

  Status BeginManagement(ZoneId zone);
  Status CheckWritable(ZoneId zone, std::uint64_t block, std::uint64_t count) const;
  Status TakeOpenSlot(ZoneId zone);
  Status OpenImplicitly(ZoneId zone);
  void MovePointer(ZoneId zone, std::uint64_t written);
  void Set(ZoneId zone, ZoneCondition condition);

  const EmulatorGeometry geometry_;
  std::vector<Zone> zones_;
  std::vector<ZoneId> changed_;
  ZoneCounts counts_;
  std::uint64_t tick_ = 0;
};

}  // namespace zenfs
