// Moves all live data out of a zone, as the collector does when space is short.
#pragma once

#include "volume/mounted_volume.h"

namespace zenfs {

// `volume` is mounted read-write. The zone is reset once nobody reads it. Errors: those of WriterMount::EnterToWrite and
// Relocation::EmptyZone.
inline Status EmptyZone(Volume& volume, ZoneId zone) {
  const WriterMount& mount = dynamic_cast<const MountedVolume&>(volume).mount();
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount.EnterToWrite());
  return mount.parts().relocation.EmptyZone(zone);
}

}  // namespace zenfs
