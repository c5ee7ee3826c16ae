// The log of a mounted volume: four parts over one device.
//
//   FrameWriter  --zones-->  LogZones  <--allocations, releases--  LogZoneSupply
//   SyncArea  ----one zone----^
//
// Ownership: owns the parts. The parts in Deps outlive it.
// Threads: see the parts. Only the thread that mounts and unmounts calls the functions here.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "device/zoned_device.h"
#include "model/edit.h"
#include "wal/frame_writer.h"
#include "wal/log_zones.h"
#include "wal/zrwa_sync_blocks.h"
#include "zone/zone_manager.h"

namespace zenfs {

class LogSpace {
 public:
  struct Deps {
    ZonedDevice* device = nullptr;
    ZoneManager* zones = nullptr;
    LogZoneAllocations* allocations = nullptr;
    Uuid volume;
    std::uint64_t epoch = 0;
    std::uint32_t ready_target = 1;       // ready zones kept ahead of use
    std::chrono::seconds space_wait{30};  // how long a write waits for a zone
    WalSending sending = WalSending::kAuto;
    std::uint32_t depth = 16;  // most zone appends in flight
    bool sync_blocks = false;  // small syncs go to a random write area (wal/zrwa_sync_blocks.h)
  };

  explicit LogSpace(const Deps& deps);

  // --- mount, before Start ---
  // In this phase frames may be written, but no zone is released, because the files have not counted live
  // frames yet.

  // Adds a zone that the metadata allocates. `info`: the device's report of it.
  void Adopt(const LogZone& zone, const ZoneInfo& info);
  // If the device limits active zones, finishes all partly written zones except those of one group: each holds a slot, and
  // the log has as many as a group has zones. Call this after the mount has moved the frames of sync blocks, which may need
  // the room in these zones.
  void FinishSpares();
  // Call this when no frame in the random write areas of earlier mounts is needed: resets these zones, so that they
  // can be written again. A zone whose reset fails stays allocated for this mount.
  void ResetSyncZones();
  // Call this when all zones with live frames are pinned. From then on a write may release other zones to
  // get space.
  void MayRelease() { zones_.MayRelease(); }

  // Errors: those of Thread::Start.
  [[nodiscard]] Status Start() { return supply_.Start(); }
  void Stop() { supply_.Stop(); }

  LogZones& zones() { return zones_; }
  const LogZones& zones() const { return zones_; }
  LogZoneSupply& supply() { return supply_; }
  FrameWriter& writer() { return writer_; }
  const FrameWriter& writer() const { return writer_; }
  SyncArea& sync_area() { return sync_area_; }
  const SyncArea& sync_area() const { return sync_area_; }

 private:
  ZonedDevice& device_;
  ZoneManager& manager_;
  LogZones zones_;
  LogZoneSupply supply_;
  FrameWriter writer_;
  SyncArea sync_area_;
  // Zones with a random write area from earlier mounts. The pins keep them from being released.
  std::vector<ZonePin> old_sync_zones_;
};

}  // namespace zenfs
