// What a restore will do to a volume, decided before it does anything.
#pragma once

#include <string>
#include <vector>

#include "backup/restore_record.h"
#include "backup/restore_source.h"
#include "volume/volume.h"

namespace zenfs {

struct RestorePlan {
  std::vector<const RestoreItem*> work;  // into the source's items
  std::vector<std::string> directories;  // to be made, if they are not there
  std::uint64_t already_there = 0;       // put there by an interrupted run of the same restore
};

// Changes nothing. Errors: kExists naming the first files that are there already and how many there are, without
// `force`; kIsADirectory and kNotADirectory for names of the other kind; kNoSpace if the bytes can't fit.
[[nodiscard]] Result<RestorePlan> PlanRestore(const Volume& volume, const RestoreSource& source,
                                              const RestoreRecord& record, const std::string& restore_path,
                                              bool force);

}  // namespace zenfs
