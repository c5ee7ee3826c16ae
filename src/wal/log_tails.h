// The tails of framed files for a reader beside a writer. Remembers the frames found in the allocated zones,
// and scans only the bytes that were written since.
//
// The zones are not reported at one moment. So an Update may find a frame in one zone and miss the frame before it, if that one
// was written to another zone after the report of that zone: the log looks damaged. Of the frames that an earlier Update found,
// it finds each one before. So by these alone (Evidence::kOlder) a log looks damaged only if it is.
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/uuid.h"
#include "device/zoned_device.h"
#include "model/state.h"
#include "wal/wal_recovery.h"

namespace zenfs {

class LogTails {
 public:
  // `device` outlives it.
  LogTails(ZonedDevice& device, const Uuid& volume) : device_(device), volume_(volume) {}

  // Forgets zones that are no longer allocated, and scans the new bytes of the others. `version`: of the state; with the same
  // one, the same zones are allocated. Errors: those of a report, of CheckSyncZonesReadable and of PresenceMark::Check.
  [[nodiscard]] Status Update(const State& state, std::uint64_t version);

  // Which frames can tell that one before them was stable, and is lost.
  enum class Evidence {
    kAll,
    kOlder,  // not those that were first found by the last Update; if one before these is missing, the log ends there
  };
  // The log of `record`, which is in the state, from the frames found so far. With kAll, or if the last Update found no new
  // frames of it, returns the same object until the record or its frames change.
  [[nodiscard]] std::shared_ptr<const ReplayedLog> Log(const std::shared_ptr<const FileRecord>& record,
                                                       std::uint64_t epoch,
                                                       Evidence evidence = Evidence::kAll);

 private:
  // Blocks in front of a frame that are not a frame. Zone appends complete in any order, so a hole may be a
  // frame that is not complete yet. For a while it is scanned again.
  struct Holes {
    std::uint64_t given_up_to = 0;  // holes before this byte stay as they are
    std::uint64_t doubted_to = 0;   // the end of the scan that found the first hole; 0: there is none
    SteadyTime since;               // when that was
    std::set<DeviceOffset> known;   // payloads of the frames found behind the first hole
  };
  struct Zone {
    LogZone allocated;
    std::uint64_t written = 0;  // at the last scan
    std::uint64_t scanned = 0;  // where the next scan begins: the end of the last frame found, or a hole
    SteadyTime grown;           // when an Update last found it longer
    std::set<FileId> owners;    // of frames in it
    Holes holes;
    bool sync_blocks = false;  // is or was a sync zone: its frames are scanned anew by each Update
  };
  struct Tail {
    std::vector<ScannedFrame> frames;
    std::size_t older = 0;  // of them, the first ones that are older than the last Update
    // The last result of Log with kAll and its arguments; null if frames were added or removed since.
    std::shared_ptr<const ReplayedLog> log;
    std::shared_ptr<const FileRecord> record;
    std::uint64_t epoch = 0;
  };

  // Makes zones_ those that the state has allocated.
  void TakeZones(const State& state);
  void Forget(const Zone& zone);
  const Zone& ZoneOf(ZoneId id) const;
  // The reports of zones_.
  [[nodiscard]] Result<std::vector<ZoneInfo>> ReportZones();
  [[nodiscard]] Status ScanAll(std::span<const ZoneInfo> report);
  void ScanZone(ZonedDevice& device, const ZoneInfo& info, Zone& zone);
  void ScanFrom(ZonedDevice& device, const ZoneInfo& info, Zone& zone);
  // Returns where the next scan begins. `hole`: the first one, `end`: of the last frame found.
  static std::uint64_t NextScan(Holes& holes, std::optional<std::uint64_t> hole, std::uint64_t end);

  ZonedDevice& device_;
  const Uuid volume_;
  // Each read of a log looks at all of them, so they are in one piece of memory. Those that the device has, ascending.
  std::vector<Zone> zones_;
  std::optional<std::uint64_t> version_;  // of the state that zones_ is of
  // Of files with frames, and of those that Log was called for, also if they were deleted since: at most about twice the files.
  std::unordered_map<FileId, Tail> tails_;
  std::vector<FileId> newer_;  // whose tails have frames that the last Update found
};

}  // namespace zenfs
