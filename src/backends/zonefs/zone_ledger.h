// The known state of the zones of a zonefs: their sizes, which are held open for writing, and
// whether one more may be. No I/O. It refuses every command that would make zonefs go read-only,
// before the command is sent.
//
// A zone is
//    held    if a descriptor for writing is open: an open zone with the mount option explicit-open
//    active  if it is writable, not full, and partly written or held
//
// Invariants: a held zone that was not opened explicitly may be released for another zone, unless a
// write is in flight.
//
// Threads: no locks; zone_writers.h locks it.
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
  // `name`: the name of the device, for messages. `max_active` 0: no limit.
  ZoneLedger(std::string name, std::uint32_t max_active, std::vector<ZoneFileState> zones);

  const ZoneFileState& state(ZoneId zone) const { return zones_[zone.value].state; }
  std::uint32_t active_count() const { return active_; }
  std::uint32_t held_count() const { return static_cast<std::uint32_t>(held_.size()); }
  bool IsHeld(ZoneId zone) const { return zones_[zone.value].held; }
  bool IsExplicit(ZoneId zone) const { return zones_[zone.value].explicitly_open; }

  // Checks a write of `bytes` at `at` (from the start of the zone). Errors: kInvalidArgument (not
  // at the write pointer, nothing to write), kZoneFull, kReadOnly, kNotFound (offline), kBusy
  // (another write is in flight).
  [[nodiscard]] Status CheckWrite(ZoneId zone, std::uint64_t at, std::uint64_t bytes) const;
  // Checks whether `command` is possible in the zone's condition. Errors: kReadOnly, kNotFound,
  // kBusy as above.
  [[nodiscard]] Status CheckCommand(std::string_view command, ZoneId zone) const;
  // As CheckCommand; also kInvalidArgument for a full zone.
  [[nodiscard]] Status CheckOpen(ZoneId zone) const;
  // As CheckCommand; also kInvalidArgument for a full zone and for an empty zone that is not open.
  [[nodiscard]] Status CheckClose(ZoneId zone) const;
  // Checks whether `zone` may be held. kBusy if it would exceed the limit of active zones.
  [[nodiscard]] Status CheckHold(ZoneId zone) const;

  // The least recently used held zone that may be released.
  std::optional<ZoneId> Dispensable() const;

  void Hold(ZoneId zone);
  void LetGo(ZoneId zone);  // also clears the mark of an explicit open
  void SetExplicit(ZoneId zone);
  void BeginWrite(ZoneId zone);
  void EndWrite(ZoneId zone);
  void SetSize(ZoneId zone, std::uint64_t size);
  void SetState(ZoneId zone, const ZoneFileState& state);

  // The condition of a zone whose file has `state`; whether it is open depends on what is held.
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
  std::vector<ZoneId> held_;  // unsorted
  std::uint32_t active_ = 0;
  std::uint64_t tick_ = 0;
};

}  // namespace zenfs
