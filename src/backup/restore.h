// Copies files of the host into a volume and verifies each. A later run continues an interrupted
// one. First plans the restore without changing anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backup/restore_record.h"
#include "backup/restore_source.h"
#include "backup/transfer.h"
#include "volume/volume.h"

namespace zenfs {

struct RestoreOptions {
  std::string source;                       // a directory or a file on the host
  std::string restore_path;                 // a directory in the volume; created if it is missing
  bool force = false;                       // replace existing files
  bool partial = false;                     // restore the undamaged files of an unfinished or damaged backup
  unsigned jobs = 4;                        // files restored in parallel
  const std::atomic<bool>* stop = nullptr;  // set to true to end the run; may be null
};

struct RestoreSummary {
  std::uint64_t files = 0;  // written by this run
  std::uint64_t bytes = 0;  // in these files
  std::uint64_t already_there = 0;
  std::uint64_t left_out = 0;     // with `partial`; each has a notice
  std::uint64_t unreachable = 0;  // their paths are too long for the host; each has a notice
  std::uint64_t directories = 0;
};

// `volume` is mounted read-write and has no other writer. First examines the source and the names
// in the volume, then reads all files with a checksum in the manifest, and only then changes
// anything. Each file gets its name after it is complete, synced and read back from the device.
//
// An existing file is kept and counted if an interrupted run of this restore created it, or, with
// `force`, if it has the same size and checksum. Any other existing file is an error without
// `force`, and replaced with it.
//
// Errors: those of OpenRestoreSource; kExists with the first existing files and their number;
// kIsADirectory and kNotADirectory, with `force` too; kCorruption for a checksum; kNoSpace, before
// anything is written if it is known by then; kShutdown if stopped. Once the volume has been
// changed, the text says how much was restored and how to continue.
[[nodiscard]] Result<RestoreSummary> RunRestore(Volume& volume, const RestoreOptions& options,
                                                TransferObserver& observer);

// The files of a restore that have to be written.
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
