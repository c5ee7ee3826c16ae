// Copies files of the host into a volume, each verified, so that an interrupted run goes on where it stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backup/transfer.h"
#include "volume/volume.h"

namespace zenfs {

struct RestoreOptions {
  std::string source;                       // a directory or a file on the host
  std::string restore_path;                 // a directory in the volume; made if it is missing
  bool force = false;                       // replace files that are there
  bool partial = false;                     // restore what is whole of an unfinished or damaged backup
  unsigned jobs = 4;                        // files at once
  const std::atomic<bool>* stop = nullptr;  // becomes true to end the run; may be null
};

struct RestoreSummary {
  std::uint64_t files = 0;  // written by this run
  std::uint64_t bytes = 0;  // in them
  std::uint64_t already_there = 0;
  std::uint64_t left_out = 0;  // with `partial`: a notice was given for each
  std::uint64_t directories = 0;
};

// `volume` is mounted read-write and has no other writer. In this order: looks at the source and at the names in
// the volume; reads all that the manifest has a checksum for; and only then changes anything. Each file then
// appears under its name at once, whole, synced and read back from the device.
//
// A file that is there already is kept and counted as such if an interrupted run of this restore put it there, or
// with `force` if it has the same size and checksum; else it is refused without `force` and replaced with it.
//
// Errors: those of OpenRestoreSource; kExists naming the first files that are in the way and how many there are;
// kIsADirectory and kNotADirectory, with `force` too; kCorruption for a checksum; kNoSpace before anything is
// written if it can be told then; kShutdown when stopped. Once the volume has been changed, the text says how
// much was restored and how to go on.
[[nodiscard]] Result<RestoreSummary> RunRestore(Volume& volume, const RestoreOptions& options,
                                                TransferObserver& observer);

}  // namespace zenfs
