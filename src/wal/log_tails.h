// The tails of framed files as one who only reads them sees them grow: remembers the frames that were found
// in the allocated zones, and looks only at what the zones have grown by.
//
// Reports of several zones are not one fingerprint: a frame may be seen in one zone while the one before it, in
// another, was not yet there when that zone was reported. The log of such a file ends too early, or looks
// damaged; after the next Update it does not any more.
//
// Threads: one at a time.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/uuid.h"
#include "device/zoned_device.h"
#include "model/state.h"
#include "wal/log_replay.h"
#include "wal/log_scan.h"

namespace zenfs {

class LogTails {
 public:
  // `device` outlives this.
  LogTails(ZonedDevice& device, const Uuid& volume) : device_(device), volume_(volume) {}

  // Forgets zones that are not allocated any more, and reads what the others hold that was not seen yet.
  // Errors: those of a report.
  [[nodiscard]] Status Update(const State& state);

  // The log of `record`, which is the state's, from the frames found so far. The same object as long as
  // neither the record nor its frames have changed.
  [[nodiscard]] std::shared_ptr<const ReplayedLog> Log(const std::shared_ptr<const FileRecord>& record,
                                                       std::uint64_t epoch);

 private:
  struct Zone {
    std::uint64_t generation = 0;
    std::uint64_t written = 0;  // when it was scanned
    std::uint64_t scanned = 0;  // up to behind the last frame
    SteadyTime grown;           // when it was last found to hold more
    std::set<FileId> owners;    // of frames in it
  };
  struct Tail {
    std::vector<ScannedFrame> frames;
    // What Log put together, and from what; null if frames came or went since.
    std::shared_ptr<const ReplayedLog> log;
    std::shared_ptr<const FileRecord> record;
    std::uint64_t epoch = 0;
  };

  void Forget(ZoneId id, const Zone& zone);
  [[nodiscard]] Status Scan(const std::vector<LogZone>& run);
  void ScanZone(const LogZone& allocated, const ZoneInfo& info);

  ZonedDevice& device_;
  const Uuid volume_;
  std::map<ZoneId, Zone> zones_;
  std::unordered_map<FileId, Tail> tails_;
};

}  // namespace zenfs
