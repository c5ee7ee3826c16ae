// Copies files of a volume into a directory of the host and verifies each. A later run continues an
// interrupted one. docs/formats/backup.md describes the result.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backup/transfer.h"
#include "base/host_directory.h"
#include "volume/volume.h"

namespace zenfs {

struct BackupOptions {
  std::string destination;        // a directory; created if it is missing and its parent exists
  std::string path;               // the file, or the directory whose content to back up; "" is all
  bool force = false;             // also use a directory that is not empty
  bool without_unsynced = false;  // go on if Shortfall::unsynced says that flushed bytes may be missing
  bool verify = false;            // also compare files that an earlier run has copied
  mode_t file_mode = HostDirectory::kFileMode;  // of new files; directories get x where this has r
  unsigned jobs = 4;                            // files copied in parallel
  const std::atomic<bool>* stop = nullptr;      // set to true to end the run; may be null
};

struct BackupSummary {
  std::uint64_t files = 0;  // copied by this run
  std::uint64_t bytes = 0;  // in these files
  std::uint64_t already_there = 0;
  std::uint64_t deleted_meanwhile = 0;  // by a concurrent writer; not in the backup
  std::uint64_t left_out = 0;           // files and directories that the host can't take; each has a notice
  std::uint64_t directories = 0;
};

// `volume` may be mounted read-only, beside a writer. A file that an earlier run has copied is not
// copied again if its id, size, mtime and content mark (source_file.h) are equal and the copy has
// its size. With `verify` both are read. What is read is compared with the volume's checksums.
//
// A file or directory whose name or path the host can't take is left out, with all that is below it. The manifest names it.
//
// Errors: those of writing; kShutdown if stopped. Once the directory has been changed,
// the text says how much of the backup is complete and how to continue. A file of the volume that
// can't be read or does not match its checksums is named in a notice and not copied; the copy of an
// earlier run stays, the other files are copied, and then the first of these errors is returned. The
// backup is complete if it has a whole copy of all files nevertheless. If the files to copy have more
// bytes than the device, files that overlap on the device count as such files, except the oldest.
// Before anything is changed: kCorruption if flushed bytes may be missing (without_unsynced); kNoSpace
// if files with several names have more bytes than the device, and than the host has room for. After
// everything was copied: kCorruption, with the files, if the device has lost bytes of them; the
// observer gets a notice for each loss.
[[nodiscard]] Result<BackupSummary> RunBackup(Volume& volume, const BackupOptions& options,
                                              TransferObserver& observer);

}  // namespace zenfs
