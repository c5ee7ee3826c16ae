// The directory on the host that a backup goes to: what is in it already, and the order in which it changes.
//
//   empty, or new ----Begin----> partial --Accept each file--> partial --Finish--> complete
//   partial, complete (--force) -^  (its end line goes first)
//
// Invariants: a file has its own name only when it is whole and read back; the manifest says "complete" only
// while it is. Until then files are in kBackupStaging, in the same directory. Others may write in the directory: nothing
// outside of it is changed, and a file that was there is replaced, never written.
//
// Threads: CreateTemporary, DropTemporary, Accept and Forget by any; all else by one, not beside them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "backup/lifetime_hints.h"
#include "backup/manifest.h"
#include "base/host_directory.h"
#include "base/mutex.h"

namespace zenfs {

inline constexpr std::string_view kBackupStaging = ".zenfs_backup";

class BackupDestination {
 public:
  // Looks, locks, and makes the directory if there is none (its parent must be there); changes nothing in it. Files are made
  // with `file_mode`, directories with the same and x where it has r.
  // Errors: kExists when it holds something and `force` is not set, unless that is an unfinished backup of the
  // same source; kBusy when another backup goes there; kNotADirectory.
  [[nodiscard]] static Result<std::unique_ptr<BackupDestination>> Open(const std::string& path, bool force,
                                                                       const ManifestHeader& source,
                                                                       mode_t file_mode);
  ~BackupDestination();  // leaves no empty staging directory behind

  // What an earlier run, finished or not, has of the same source; empty if there is none.
  const std::map<std::string, ManifestFile>& known() const { return known_.files; }

  // Writes the manifest of an unfinished backup that has `kept` and makes the directories. Files of the earlier
  // run that are not in `paths` are removed. Errors: kNotADirectory before anything is changed if one of them is below a
  // symbolic link.
  [[nodiscard]] Status Begin(std::set<std::string> directories, std::map<std::string, ManifestFile> kept,
                             const std::set<std::string>& paths);

  const HostDirectory& directory() const { return directory_; }
  // `number` tells the temporaries of one run apart.
  [[nodiscard]] Result<HostFile> CreateTemporary(std::size_t number) const;
  void DropTemporary(std::size_t number) const;
  // The temporary, synced and verified, gets its name and its line.
  [[nodiscard]] Status Accept(std::size_t number, const std::string& relative, const ManifestFile& file)
      EXCLUDES(mutex_);

  // A file of the earlier run that turned out to be damaged.
  [[nodiscard]] Status Forget(const std::string& relative) EXCLUDES(mutex_);

  // Everything is on stable media when this returns, and the manifest says that the backup is complete. Errors: kNotFound
  // and kCorruption if another program has moved the directory or files of the backup meanwhile.
  [[nodiscard]] Status Finish(const LifetimeHints& hints) EXCLUDES(mutex_);

  // False while the directory's files and manifest are those that were there before.
  bool begun() const { return begun_; }
  // Whole files so far.
  std::size_t files() const EXCLUDES(mutex_);

 private:
  BackupDestination(HostDirectory directory, mode_t file_mode)
      : directory_(std::move(directory)), file_mode_(file_mode) {}

  [[nodiscard]] Status Look(bool force, const ManifestHeader& source);
  [[nodiscard]] Status CheckStale(const std::set<std::string>& paths) const;
  [[nodiscard]] Status RemoveStale(const std::set<std::string>& directories,
                                   const std::set<std::string>& paths) const;
  [[nodiscard]] Status CheckIsWhole(const Manifest& manifest) const;
  [[nodiscard]] Status MakeDirectory(const std::string& relative) const;
  [[nodiscard]] Status ClearStaging() const;
  [[nodiscard]] Result<HostFile> WriteManifest(const Manifest& manifest) const;

  const HostDirectory directory_;  // locked
  const mode_t file_mode_;
  Manifest known_;  // of the earlier run; its header is that of this one too
  bool begun_ = false;

  mutable Mutex mutex_;  // held while one line is written
  Manifest manifest_ GUARDED_BY(mutex_);
  std::unique_ptr<HostFile> lines_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
