// What the holder of a zonefs knows of its zones: sizes, which are held open for writing, and whether one more may be.
// Pure bookkeeping, so that everything that zonefs would answer by going read-only is refused before it is sent.
//
// A zone is
//   held    if a descriptor for writing is open: an open zone under the mount option explicit-open
//   active  if it is writable, not full, and written in part or held
//
// Invariants: held and not explicitly opened zones may be let go of for others, unless a write is under way.
//
// Threads: none; zone_writers.h locks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zonefs/zone_files.h"
#include "device/zone_info.h"

namespace zenfs {

class ZoneLedger {
 public:
  // `name` is the device's, for messages. `max_active` 0: no limit.
  ZoneLedger(std::string name, std::uint32_t max_active, std::vector<ZoneFileState> zones);

  const ZoneFileState& state(ZoneId zone) const { return zones_[zone.value].state; }
  std::uint32_t active_count() const { return active_; }
  std::uint32_t held_count() const { return static_cast<std::uint32_t>(held_.size()); }
  bool IsHeld(ZoneId zone) const { return zones_[zone.value].held; }
  bool IsExplicit(ZoneId zone) const { return zones_[zone.value].explicitly_open; }

  // Whether a write of `bytes` at `at`, both from the start of the zone, is in order. Errors: kInvalidArgument (not at
  // the write pointer, nothing to write), kZoneFull, kReadOnly, kNotFound (offline), kBusy (another write is under way).
  [[nodiscard]] Status CheckWrite(ZoneId zone, std::uint64_t at, std::uint64_t bytes) const;
  // Whether `command` may be carried out at all. Errors: kReadOnly, kNotFound, kBusy as above.
  [[nodiscard]] Status CheckCommand(std::string_view command, ZoneId zone) const;
  // CheckCommand, and kInvalidArgument for a full zone.
  [[nodiscard]] Status CheckOpen(ZoneId zone) const;
  // CheckCommand, and kInvalidArgument for a full zone and for an empty one that is not open.
  [[nodiscard]] Status CheckClose(ZoneId zone) const;
  // Whether `zone` may be held: kBusy if it would be one active zone too many.
  [[nodiscard]] Status CheckHold(ZoneId zone) const;

  // The held zone used longest ago that may be let go of.
  std::optional<ZoneId> Dispensable() const;

  void Hold(ZoneId zone);
  void LetGo(ZoneId zone);  // also forgets that it was opened explicitly
  void SetExplicit(ZoneId zone);
  void BeginWrite(ZoneId zone);
  void EndWrite(ZoneId zone);
  void SetSize(ZoneId zone, std::uint64_t size);
  void SetState(ZoneId zone, const ZoneFileState& state);

  // The condition of a zone whose file says `state`, by what is held.
  ZoneCondition ConditionOf(ZoneId zone, const ZoneFileState& state) const;

 private:
  struct Zone {
    ZoneFileState state;
    bool held = false;
    bool explicitly_open = false;
    bool writing = false;
    std::uint64_t used = 0;  // tick of the last write or hold
  };

  static bool IsActive(const Zone& zone);
  template <typename Change>
  void Update(ZoneId zone, Change change);
  Error Refusal(Code code, std::string_view command, ZoneId zone, std::string_view why) const;

  const std::string name_;
  const std::uint32_t max_active_;
  std::vector<Zone> zones_;
  std::vector<ZoneId> held_;  // in no order
  std::uint32_t active_ = 0;
  std::uint64_t tick_ = 0;
};

}  // namespace zenfs
