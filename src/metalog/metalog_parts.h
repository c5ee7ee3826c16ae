// The parts of an open metadata log, which MetalogImpl, GroupCommit and SwitchRun share.
//
// Roles
//   leader   the thread that leads (commit_queue.h); only it writes to the current generation. A committing thread leads
//            for one batch, a log switch for its SwitchBegin and its last round.
//   switch   the thread that runs a log switch (log_switch.h); only it takes and resets metadata zones.
//
// Invariants, while `mutex` is free
//   a call whose result is OK is durable and in `replica`; stats.sequence is the last commit in `replica`
//   once `health` is an error, it does not change and the queue stays empty
//
// Threads: `mutex` guards the members below it. No I/O happens while it is held, and the sink is not called. `zones` has
// its own lock, which comes after it. The members above it are constant.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "metalog/commit_queue.h"
#include "metalog/current_generation.h"
#include "metalog/footprint.h"
#include "metalog/log_switch.h"
#include "metalog/metalog.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"
#include "metalog/replica.h"

namespace zenfs {

struct MetalogParts {
  // `run_switch`: for LogSwitch.
  MetalogParts(ZonedDevice& the_device, const Superblock& the_superblock, Replayed replayed,
               std::function<void()> run_switch);

  MetalogSpace space() const REQUIRES(mutex) {
    return {.zone_bytes = smallest_zone_bytes,
            .zones = zones.usable(),
            .block_size = layout.block_size,
            .copies = copies};
  }
  bool MayHaveMoreZones() const REQUIRES(mutex) {
    return superblock.may_add_metadata_zones() && zones.size() + space().ZonesOfPlace() <= kMaxMetadataZones;
  }
  // Sets wanted_zones. Call it after each change of the replica or of the zones. `bytes`: of a commit that found no room.
  void NoteWanted(std::uint64_t bytes = 0) REQUIRES(mutex);
  // Raises the counters of `metrics` to those of the log. Precondition: current.has_writer().
  void CountWritten() REQUIRES(mutex);
  // The call fails, and its edits are not in the log. It is not queued any more.
  void Refuse(CommitCall& call, const Error& error) REQUIRES(mutex);
  // `applied`: how the replica took commits. After an error the log is read-only, because replay would fail, too.
  void CheckReplica(const Status& applied) REQUIRES(mutex);
  // Makes the log read-only and fails all queued calls. Only the first reason is kept.
  void GoReadOnly(const Error& why) REQUIRES(mutex);

  ZonedDevice& device;
  const Superblock superblock;
  const MetazoneLayout layout;
  const std::uint32_t copies;     // zones that each frame is written to, while enough are good
  const std::size_t spare_slots;  // for zones of superseded generations
  Metazones zones;

  mutable Mutex mutex{LockRank::kMetalog};
  CommitQueue queue GUARDED_BY(mutex);
  CurrentGeneration current GUARDED_BY(mutex);
  Replica replica GUARDED_BY(mutex);
  LogSwitch log_switch GUARDED_BY(mutex);
  std::uint64_t smallest_zone_bytes GUARDED_BY(mutex);  // room for frames in the smallest metadata zone
  CommitSink* sink GUARDED_BY(mutex) = nullptr;
  Metrics* metrics GUARDED_BY(mutex) = nullptr;
  bool stopping GUARDED_BY(mutex) = false;
  Status health GUARDED_BY(mutex);
  MetalogStats stats GUARDED_BY(mutex);
  bool zones_claimed GUARDED_BY(mutex) =
      false;  // a thread took wanted_zones and has not called Metalog::AddZones
  std::vector<ZoneId> freed_zones GUARDED_BY(mutex);  // for Metalog::TakeFreedZones

  // Any thread may read these.
  std::atomic<std::uint32_t> wanted_zones{0};
  std::atomic<bool> has_freed_zones{false};
};

// Room for frames, in bytes, of the smallest metadata zone. Zones that are offline or cannot be reported do not count.
std::uint64_t SmallestZone(ZonedDevice& device, std::span<const ZoneId> zones);

}  // namespace zenfs
