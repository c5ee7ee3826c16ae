// The metadata log: Commit(edits) is all or nothing, durable when it returns, and grouped across threads.
//
// The log lives in the metadata zones named by the superblock. Rules 1 to 4 of docs/internals/architecture.md are kept
// here and nowhere else; docs/formats/metadata-log.md has the bytes.
//
// Life of a generation:
//
//   Switch begins          -> [header gen g+1][snapshot as of commit S] [commits after S]   being written; not real
//   SwitchComplete durable -> current: commits go here; the zones of generation g may be reset at the next log switch
//
// Threads: Commit from any thread. The sink is called in log order, one call at a time, after the commit is
// durable and before its Commit returns; it must not call back into the log.
// Lock order: mutex_ of the log is below every lock that the sink takes (it is not held during the call).
#pragma once

#include <cstdint>
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
  // `edits` are those of one Commit call.
  virtual void OnCommitted(std::span<const Edit> edits) = 0;
};

struct CommitOptions {
  // Set if the edits point at data that was written and not flushed; taken before the first of that data was written.
  // The device's cache is then flushed before the edits are written. Grouped commits share that flush. If a flush failed
  // since the mark, the data may be lost, and the commit fails with kIo.
  std::optional<FlushMark> data_since;
};

// What the log did since it was opened, for `zenfs fs-info`, statistics and tests.
struct MetalogStats {
  std::uint64_t commits = 0;         // Commit calls that succeeded
  std::uint64_t frames_written = 0;  // device writes that carried them
  std::uint64_t bytes_written = 0;   // all, with padding and snapshots
  std::uint64_t switches = 0;
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;  // of the last commit
};

class Metalog {
 public:
  // Writes generation 1 with the state that `initial` describes into the first metadata zone; the other
  // metadata zones are reset. For mkfs; the caller has decided that the device may be overwritten.
  [[nodiscard]] static Status Format(ZonedDevice& device, const Superblock& superblock,
                                     std::span<const Edit> initial);

  // What Rebuild writes.
  struct NewGeneration {
    std::uint64_t generation = 0;  // above every one there is; the next ones are taken where a zone fails
    std::uint64_t sequence = 0;    // the state is as of this commit
    std::vector<ZoneId> keep;      // zones that are not to be touched
  };
  // Writes `state` as a complete generation, whatever the metadata zones hold; it is the current one when this returns,
  // and from then on only. For repair. Errors: kNoSpace when the zones that are not kept can't hold it; the device's.
  [[nodiscard]] static Status Rebuild(ZonedDevice& device, const Superblock& superblock, const State& state,
                                      const NewGeneration& wanted);

  // Finds the newest complete generation and replays it. A device opened read-only is never written.
  // Errors: kCorruption when a generation that was proven complete cannot be read (the text says which
  // commits may be missing), kReadOnly when `device` is exclusive but only a read-only mount is safe.
  [[nodiscard]] static Result<std::unique_ptr<Metalog>> Open(ZonedDevice& device,
                                                             const Superblock& superblock);

  virtual ~Metalog() = default;

  // The committed state when the log was opened (or after the last Refresh); for the catalog's start.
  virtual const State& recovered() const = 0;
  // Set once, before the first Commit. Not owned.
  virtual void SetSink(CommitSink* sink) = 0;
  // Where log switches and what is written are counted from now on. Set once, before the first Commit. Not owned.
  virtual void SetMetrics(Metrics* metrics) = 0;

  // Errors: kIo for data that a failed flush may have lost (nothing was written), and for whatever the device answered,
  // after which the outcome is known to be "not committed" because the log has moved to another zone without it (zones
  // that end, turn read-only or go offline are left for others first); kBusy when the device's limits leave no zone to
  // write to; kUnknownOutcome when moving on was impossible too, and from then on kReadOnly for every call; kCorruption,
  // also for every later call, when the log contradicts itself (a fault of ZenFS; nothing was written); kNoSpace
  // when the state would no longer fit the metadata zones; kShutdown after Stop.
  [[nodiscard]] virtual Status Commit(std::vector<Edit> edits, CommitOptions options = {}) = 0;

  // kNoSpace if a commit of so many bytes that makes the state larger would be refused now; for who would otherwise write
  // data that the commit then can't name.
  [[nodiscard]] virtual Status CheckRoom(std::uint64_t bytes) const = 0;

  // Switches now and waits for it. For tests and for a mount that found a torn tail.
  [[nodiscard]] virtual Status Switch() = 0;

  // Waits for commits and a running log switch to end. The log accepts nothing afterwards.
  virtual void Stop() = 0;

  // Not OK once the log has gone read-only: why.
  virtual Status health() const = 0;
  virtual MetalogStats stats() const = 0;
};

}  // namespace zenfs
