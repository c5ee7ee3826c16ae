// Moves all live data out of a zone, as the collector does when space is short.
#pragma once

#include "volume/mount/mounted_volume.h"

namespace zenfs {

// `volume` is mounted read-write. The zone is reset once nobody reads it. Errors: those of WriterMount::EnterToWrite and
// ZoneMover::EmptyZone.
inline Status EmptyZone(Volume& volume, ZoneId zone) {
  const WriterMount& mount = dynamic_cast<const MountedVolume&>(volume).mount();
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount.EnterToWrite());
  return mount.parts().mover.EmptyZone(zone);
}

// Cleans all log zones that get no more frames, as the collector does when space is short. Returns the first error.
inline Status CleanLogZones(Volume& volume) {
  const WriterMount& mount = dynamic_cast<const MountedVolume&>(volume).mount();
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount.EnterToWrite());
  ZoneMover& mover = mount.parts().mover;
  Status first;
  for (const LogZoneStatus& zone : mover.LookAtLog().zones) {
    if (!zone.can_be_cleaned()) continue;
    const Victim victim{.zone = zone.zone, .kind = Victim::Kind::kLog, .generation = zone.generation};
    first.Update(mover.Empty(victim, {}));
  }
  return first;
}

}  // namespace zenfs
