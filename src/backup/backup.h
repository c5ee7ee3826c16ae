// Copies files of a volume into a directory of the host, each verified, so that an interrupted run goes on where
// it stopped. docs/formats/backup.md has what comes out.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backup/transfer.h"
#include "base/host_directory.h"
#include "volume/volume.h"

namespace zenfs {

struct BackupOptions {
  std::string destination;  // a directory; made if only it, not its parent, is missing
  std::string path;         // what to back up; "" is all. Of a directory: what is in it
  bool force = false;       // also into a directory that is not empty
  bool verify = false;      // also read again, on both sides, what an earlier run has copied
  mode_t file_mode = HostDirectory::kFileMode;  // of what it makes; directories get x where this has r
  unsigned jobs = 4;                            // files at once
  const std::atomic<bool>* stop = nullptr;      // becomes true to end the run; may be null
};

struct BackupSummary {
  std::uint64_t files = 0;  // copied by this run
  std::uint64_t bytes = 0;  // in them
  std::uint64_t already_there = 0;
  std::uint64_t deleted_meanwhile = 0;  // by a writer beside us; not in the backup
  std::uint64_t directories = 0;
};

// `volume` may be mounted read-only, beside a writer. A file that an earlier run has copied is not copied again if its id,
// size, time of change and content mark (content_mark.h) are the same and the copy has its size; with `verify` both are
// read.
//
// Errors: those of reading and writing, kShutdown when stopped; once the directory has been changed, the text
// says how much of the backup is there and how to go on.
[[nodiscard]] Result<BackupSummary> RunBackup(Volume& volume, const BackupOptions& options,
                                              TransferObserver& observer);

}  // namespace zenfs
