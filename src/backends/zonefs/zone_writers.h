// Writing to the zones of a zonefs: what is known of them (ZoneLedger), and the descriptors and commands (ZoneWriters).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zonefs/zone_files.h"
#include "base/mutex.h"
#include "device/zone_info.h"

namespace zenfs {

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
// Threads: no locks; ZoneWriters locks it.
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

// The descriptors for writing, at most as many as zones may be open, and every command that changes
// a zone.
//
// A zone keeps its descriptor until it is full, reset or closed, or until another zone needs the
// place. Then the least recently written zone loses its descriptor, as a drive closes implicitly
// opened zones. Zones opened by Open never lose theirs.
//
// Threads: safe from any thread. Writes and commands of one zone must not overlap
// (device/zoned_device.h); overlapping ones are refused with kBusy. Locks: opening_, then mutex_.
// opening_ is held while descriptors for writing are opened and closed, so that their number never
// exceeds the limit; both are commands to the device. A write to a zone that has its descriptor
// does not take it. mutex_ is a leaf lock, never held during I/O.
class ZoneWriters {
 public:
  struct Limits {
    std::uint32_t open = 0;    // zones; 0: no limit, then kUnlimited descriptors are kept
    std::uint32_t active = 0;  // zones; 0: no limit
  };
  static constexpr std::uint32_t kUnlimited = 128;

  // `zones`: the present states of the files. `files` must outlive this. `name`: the name of the
  // device, for messages.
  ZoneWriters(std::string name, const ZoneFiles& files, Limits limits, std::vector<ZoneFileState> zones);

  // Admits a write of `bytes` at `at` (from the start of the zone). Returns the descriptor to use,
  // which stays open until EndWrite or FailWrite; one of them must follow. Errors: those of
  // ZoneLedger::CheckWrite; kBusy if the limits do not allow to open the zone; those of opening the
  // file.
  [[nodiscard]] Result<int> BeginWrite(ZoneId zone, std::uint64_t at, std::uint64_t bytes)
      EXCLUDES(opening_, mutex_);
  // The write succeeded and the zone is written up to `size`.
  void EndWrite(ZoneId zone, std::uint64_t size) EXCLUDES(opening_, mutex_);
  // The write failed and the file now has `state`.
  void FailWrite(ZoneId zone, const ZoneFileState& state) EXCLUDES(opening_, mutex_);

  // Like the calls of ZonedDevice. Errors also say what happened to the zone.
  [[nodiscard]] Status Open(ZoneId zone) EXCLUDES(opening_, mutex_);
  [[nodiscard]] Status Close(ZoneId zone) EXCLUDES(opening_, mutex_);
  [[nodiscard]] Status Reset(ZoneId zone) EXCLUDES(opening_, mutex_);
  // Truncates the file to its capacity; reads of the zone wait meanwhile. A full zone stays
  // unchanged.
  [[nodiscard]] Status Finish(ZoneId zone) EXCLUDES(opening_, mutex_);

  // The known state of the zone; exact for its writer.
  ZoneFileState Known(ZoneId zone) const EXCLUDES(mutex_);
  // Records the access that the file of a failed zone shows.
  void Learn(ZoneId zone, ZoneAccess access) EXCLUDES(mutex_);
  // The entry of the zone in a report, from the state of its file.
  ZoneInfo Info(ZoneId zone, DeviceOffset start, std::uint64_t zone_size, const ZoneFileState& state) const
      EXCLUDES(mutex_);

 private:
  // Gets a descriptor for `zone`; closes that of another zone if needed. kBusy if none can be
  // closed.
  Status Hold(ZoneId zone) REQUIRES(opening_) EXCLUDES(mutex_);
  // Closes a descriptor that is not needed now. Returns false if there is none.
  bool CloseOne() REQUIRES(opening_) EXCLUDES(mutex_);
  // Removes the descriptor; the caller closes it after releasing mutex_. The zone must not be
  // written at the moment.
  UniqueFd Take(ZoneId zone) REQUIRES(opening_, mutex_);
  // Closes the descriptor of a zone that no longer needs it.
  void Drop(ZoneId zone) EXCLUDES(opening_, mutex_);
  Status Truncate(ZoneId zone, std::string_view command, std::uint64_t size) EXCLUDES(mutex_);
  // The error of a command, with the present state of the file.
  Error Explain(ZoneId zone, std::string_view command, const Error& error) EXCLUDES(mutex_);

  const std::string name_;
  const ZoneFiles& files_;
  const Limits limits_;
  Mutex opening_{LockRank::kDeviceZone};
  mutable Mutex mutex_{LockRank::kDeviceState};
  ZoneLedger ledger_ GUARDED_BY(mutex_);
  std::vector<UniqueFd> descriptors_ GUARDED_BY(mutex_);  // by zone; valid if the ledger holds the zone
};

}  // namespace zenfs
