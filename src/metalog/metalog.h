// The metadata log: Commit(edits) is all or nothing, durable when it returns, and grouped across threads.
//
// The superblock lists the zones of the log. This class keeps rules 1 to 4 of docs/internals/architecture.md.
// docs/formats/metadata-log.md describes the bytes.
//
// A log switch from generation g to g+1:
//
//   begins                 -> [header g+1][snapshot as of commit S][commits after S]; mounts still use generation g
//   SwitchComplete durable -> g+1 is current and takes the commits; the next log switch may reset the zones of g
//
// Threads: Commit from any thread. The log calls the sink in log order, one call at a time, after the commit is
// durable and before its Commit returns. The sink must not call the log.
// Lock order: the log does not hold its mutex_ while it calls the sink.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/flush_mark.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metrics/metrics.h"
#include "model/state.h"

namespace zenfs {

class CommitSink {
 public:
  virtual ~CommitSink() = default;
  // `edits`: the edits of one Commit call.
  virtual void OnCommitted(std::span<const Edit> edits) = 0;
};

struct CommitOptions {
  // Set this if the edits point to unflushed data: a mark taken before the first write of that data. The log then
  // flushes the device before it writes the edits; grouped commits share that flush. If a flush failed since the mark,
  // the data may be lost and the commit fails with kIo.
  std::optional<FlushMark> data_since;
};

// Counters since the log was opened, for `zenfs fs-info`, statistics and tests.
struct MetalogStats {
  std::uint64_t commits = 0;         // Commit calls that succeeded
  std::uint64_t frames_written = 0;  // device writes of commit frames
  std::uint64_t bytes_written = 0;   // including padding and snapshots
  std::uint64_t switches = 0;
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;  // of the last commit
  // Zones that hold each frame of the current generation, and the number that the volume wants.
  std::uint32_t copies = 1;
  std::uint32_t wanted_copies = 1;
  // If the replay found that a copy of the log, or a part of one, is lost: what was lost and what was done; otherwise empty.
  // For the notices of the mount.
  std::string lost_copy;
};

class Metalog {
 public:
  // For mkfs: resets all metadata zones, writes generation 1, with the state that `initial` describes, to the first ones, and
  // a copy of the superblock to the others, as far as the device's limit of active zones allows.
  // The caller has checked that the device may be overwritten.
  [[nodiscard]] static Status Format(ZonedDevice& device, const Superblock& superblock,
                                     std::span<const Edit> initial);

  struct NewGeneration {
    std::uint64_t generation = 0;  // higher than all existing ones; each retry takes the next number
    std::uint64_t sequence = 0;    // the state is as of this commit
    std::vector<ZoneId> keep;      // zones that must not be changed
  };
  // For repair: writes `state` as a complete generation, whatever the metadata zones hold. Once this returns OK, and not
  // before, that generation is the current one. Errors: kNoSpace if the zones outside `keep` can't hold it; the device's.
  [[nodiscard]] static Status Rebuild(ZonedDevice& device, const Superblock& superblock, const State& state,
                                      const NewGeneration& wanted);

  // Replays the newest complete generation. Never writes to a device that was opened read-only. `approve`, if given, gets the
  // replayed state before anything is written; its error is returned.
  // Errors: kCorruption if a generation that was complete cannot be read (the text names the commits that may be
  // missing); kReadOnly if `device` is exclusive but only a read-only mount is safe.
  [[nodiscard]] static Result<std::unique_ptr<Metalog>> Open(
      ZonedDevice& device, const Superblock& superblock,
      const std::function<Status(const State&)>& approve = {});

  virtual ~Metalog() = default;

  // The committed state when the log was opened.
  virtual const State& recovered() const = 0;
  // Call at most once, before the first Commit. Not owned.
  virtual void SetSink(CommitSink* sink) = 0;
  // Counts log switches and written bytes in `metrics`. Call at most once, before the first Commit. Not owned.
  virtual void SetMetrics(Metrics* metrics) = 0;

  // If a zone becomes full, read-only or offline, the commit is retried in another zone first. Errors, all of which mean
  // "not committed" except kUnknownOutcome:
  //   kIo              a failed flush may have lost the data (nothing was written), or the device failed and the log
  //                    switched to another zone without this commit
  //   kBusy            the device's limits leave no zone to write to
  //   kUnknownOutcome  the device failed and so did the log switch; every later call returns kReadOnly
  //   kCorruption      the log contradicts itself (a bug; nothing was written); every later call returns the same
  //   kNoSpace         the state would no longer fit the metadata zones
  //   kShutdown        after Stop
  [[nodiscard]] virtual Status Commit(std::vector<Edit> edits, CommitOptions options = {}) = 0;

  // Returns kNoSpace if a commit that makes the state `bytes` larger would be refused now. Lets a caller fail before it
  // writes data that it could not commit.
  [[nodiscard]] virtual Status CheckRoom(std::uint64_t bytes) const = 0;

  // Runs a log switch and waits for it. For tests, and for a mount that found a torn tail.
  [[nodiscard]] virtual Status Switch() = 0;

  // --- the zones of the log ---
  // All zones that belong to the log: those of the superblock first, then those that were added.
  virtual std::vector<ZoneId> zones() const = 0;
  // Number of zones that the log wants, because the next commits may make the snapshot too large for those that it has; 0
  // if it wants none, or another thread has claimed them. Cheap. After another answer than 0, call AddZones.
  virtual std::uint32_t ClaimWantedZones() = 0;
  // Gives empty zones to the log: as many as were claimed, or none. Starts the log switch that names them on the device; after a
  // crash before its end they are empty zones as any other.
  virtual void AddZones(std::span<const ZoneInfo> zones) = 0;
  // Returns the zones that the log does not need any more. They are empty, and no header names them. Cheap if there are none.
  virtual std::vector<ZoneId> TakeFreedZones() = 0;

  // Waits for the running log switch, if there is one.
  virtual void AwaitSwitch() = 0;

  // Waits for commits and a running log switch. Later calls fail with kShutdown, and the device may be destroyed.
  virtual void Stop() = 0;

  // Once the log is read-only: the reason. OK before.
  virtual Status health() const = 0;
  virtual MetalogStats stats() const = 0;
};

}  // namespace zenfs
