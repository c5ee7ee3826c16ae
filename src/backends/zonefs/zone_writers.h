// The descriptors for writing, at most as many as zones may be open, and every command that changes a zone.
//
// A zone keeps its descriptor until it is full, empty again or closed, or until another zone needs the place: then the
// one written longest ago gives its up, as a drive does with implicitly opened zones. Those opened by Open never do.
//
// Threads: safe from any thread; writes and commands of one zone must not overlap (device/zoned_device.h), one that
// does is refused with kBusy. Locks: opening_, then mutex_. opening_ is held while descriptors for writing are opened
// and closed, which are commands to the device, so that their number never passes the limit; a write to a zone that has
// its descriptor does not take it. mutex_ is a leaf lock, never held over I/O.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/zonefs/zone_ledger.h"
#include "base/mutex.h"

namespace zenfs {

class ZoneWriters {
 public:
  struct Limits {
    std::uint32_t open = 0;    // zones; 0: none, then kUnlimited descriptors are kept
    std::uint32_t active = 0;  // zones; 0: none
  };
  static constexpr std::uint32_t kUnlimited = 128;

  // `zones` is what `files`, which outlives this, says of them now. `name` is the device's, for messages.
  ZoneWriters(std::string name, const ZoneFiles& files, Limits limits, std::vector<ZoneFileState> zones);

  // Admits a write of `bytes` at `at`, both from the start of the zone. Returns the descriptor to write by, which stays
  // open until EndWrite or FailWrite, one of which must follow. Errors: as ZoneLedger::CheckWrite; kBusy if the zone
  // can't be opened because of the limits; those of opening the file.
  [[nodiscard]] Result<int> BeginWrite(ZoneId zone, std::uint64_t at, std::uint64_t bytes)
      EXCLUDES(opening_, mutex_);
  // The zone is written up to `size`.
  void EndWrite(ZoneId zone, std::uint64_t size) EXCLUDES(opening_, mutex_);
  // The write failed and the file now says `state`.
  void FailWrite(ZoneId zone, const ZoneFileState& state) EXCLUDES(opening_, mutex_);

  // As the calls of ZonedDevice. Errors of the files come with what became of the zone.
  [[nodiscard]] Status Open(ZoneId zone) EXCLUDES(opening_, mutex_);
  [[nodiscard]] Status Close(ZoneId zone) EXCLUDES(opening_, mutex_);
  [[nodiscard]] Status Reset(ZoneId zone) EXCLUDES(opening_, mutex_);
  // By a truncation to the capacity, behind which reads of the zone wait. A full zone is left as it is.
  [[nodiscard]] Status Finish(ZoneId zone) EXCLUDES(opening_, mutex_);

  // What is known of the zone; for its writer exact.
  ZoneFileState Known(ZoneId zone) const EXCLUDES(mutex_);
  // Takes note of what the file says of a zone that failed.
  void Learn(ZoneId zone, ZoneAccess access) EXCLUDES(mutex_);
  // The zone as a report shows it, by what its file says.
  ZoneInfo Info(ZoneId zone, DeviceOffset start, std::uint64_t zone_size, const ZoneFileState& state) const
      EXCLUDES(mutex_);

 private:
  // A descriptor for `zone`, at the cost of another's if need be. kBusy if there is none to spare.
  Status Hold(ZoneId zone) REQUIRES(opening_) EXCLUDES(mutex_);
  // Closes a descriptor that nobody needs now; false if there is none.
  bool CloseOne() REQUIRES(opening_) EXCLUDES(mutex_);
  // The descriptor, for the caller to close once mutex_ is free. The zone is not being written.
  UniqueFd Take(ZoneId zone) REQUIRES(opening_, mutex_);
  // Closes the descriptor of a zone that has no more use for it.
  void Drop(ZoneId zone) EXCLUDES(opening_, mutex_);
  Status Truncate(ZoneId zone, std::string_view command, std::uint64_t size) EXCLUDES(mutex_);
  // The error of a command, by what the file says now.
  Error Explain(ZoneId zone, std::string_view command, const Error& error) EXCLUDES(mutex_);

  const std::string name_;
  const ZoneFiles& files_;
  const Limits limits_;
  Mutex opening_;
  mutable Mutex mutex_;
  ZoneLedger ledger_ GUARDED_BY(mutex_);
  std::vector<UniqueFd> descriptors_ GUARDED_BY(mutex_);  // by zone; valid where the ledger says held
};

}  // namespace zenfs
