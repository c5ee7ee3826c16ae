// The steps of a restore, planned before it changes anything.
#pragma once

#include <string>
#include <vector>

#include "backup/restore_record.h"
#include "backup/restore_source.h"
#include "volume/volume.h"

namespace zenfs {

struct RestorePlan {
  std::vector<const RestoreItem*> work;  // pointers to the source's items
  std::uint64_t already_there = 0;       // files from an interrupted run of the same restore
};

// Changes nothing. Errors: kExists, without `force`, with the first existing files and their
// number; kIsADirectory and kNotADirectory for names of the other kind; kNoSpace if the bytes can't
// fit on the device, or those of LOG and LOCK in the aux directory.
[[nodiscard]] Result<RestorePlan> PlanRestore(const Volume& volume, const RestoreSource& source,
                                              const RestoreRecord& record, bool force);

}  // namespace zenfs
