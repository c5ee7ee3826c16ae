// The destination directory of a backup on the host: its present content, and the order of its
// changes.
//
//    empty, or new ----Begin----> partial --Accept each file--> partial --Finish--> complete
//    partial, complete (--force) -^  (its end line is removed first)
//
// Invariants: a file gets its own name only after it is complete and read back; the manifest says
// "complete" only while the backup is complete. Unfinished files are in kBackupStaging, in the same
// directory. Others may write in the directory: nothing outside of it is changed, and an existing
// file is replaced, never overwritten.
//
// Threads: any for CreateTemporary, DropTemporary, Accept and Forget; all other functions by one
// thread, not concurrently.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backup/manifest.h"
#include "base/host_directory.h"
#include "base/mutex.h"

namespace zenfs {

// Passes a text to its argument, piece by piece, until that fails.
using TextSource = std::function<Status(const TextSink&)>;

class BackupDestination {
 public:
  // Opens, checks and locks the directory, or creates it if it is missing and its parent exists;
  // changes nothing in it. Adds the names of an earlier run to `paths`, which must outlive the object; from then on they do not
  // change. Files get `file_mode`; directories get the same, with x where it has r.
  // Errors: kExists if it is not empty and `force` is not set, unless it holds an unfinished backup
  // of the same source; kBusy if another backup uses it; kNotADirectory.
  [[nodiscard]] static Result<std::unique_ptr<BackupDestination>> Open(const std::string& path, bool force,
                                                                       const ManifestHeader& source,
                                                                       mode_t file_mode, PathTree& paths);
  ~BackupDestination();  // removes an empty staging directory

  // The files of the same source that an earlier run, finished or not, has copied.
  const std::map<PathNode, ManifestFile>& known() const { return known_.files; }

  // Why the host can't take a file or directory of this path; nothing if it can, as far as is known before it is created.
  // Errors: kNotADirectory below a symbolic link; those of the host.
  [[nodiscard]] Result<std::optional<std::string>> WhyUnfit(PathNode node) const;

  // Writes the manifest of an unfinished backup with the files `kept`, and creates the directories.
  // Removes files of the earlier run that are not in `files`. Returns the directories that the host can't take, with the
  // reason. Errors: kNotADirectory, before anything is changed, if one of the files is below a symbolic link.
  // `directories`: parents first.
  using Unfit = std::map<PathNode, std::string>;
  [[nodiscard]] Result<Unfit> Begin(const std::vector<PathNode>& directories,
                                    std::map<PathNode, ManifestFile> kept, const std::set<PathNode>& files);

  const HostDirectory& directory() const { return directory_; }
  // `number` distinguishes the temporaries of one run.
  [[nodiscard]] Result<HostFile> CreateTemporary(std::size_t number) const;
  void DropTemporary(std::size_t number) const;
  // Gives the temporary, which is synced and verified, its name and its line in the manifest.
  [[nodiscard]] Status Accept(std::size_t number, PathNode node, const ManifestFile& file) EXCLUDES(mutex_);

  // Lists the copy of an earlier run that Begin did not keep again, if it is there with its size: the file has changed in the
  // volume since, and can't be copied.
  [[nodiscard]] Status Keep(PathNode node) EXCLUDES(mutex_);
  // Removes a file of the earlier run that is damaged.
  [[nodiscard]] Status Forget(PathNode node) EXCLUDES(mutex_);

  // Makes everything durable and marks the backup as complete in the manifest, which also names what is `missing`. `hints` passes
  // the text of the file of hints to its argument. Errors:
  // kNotFound and kCorruption if another program has moved the directory or files of the backup meanwhile.
  [[nodiscard]] Status Finish(const TextSource& hints, Unfit missing) EXCLUDES(mutex_);

  // False while the directory still has its earlier files and manifest.
  bool begun() const { return begun_; }
  // Number of complete files so far.
  std::size_t files() const EXCLUDES(mutex_);

 private:
  BackupDestination(HostDirectory directory, mode_t file_mode, const PathTree& paths)
      : directory_(std::move(directory)), file_mode_(file_mode), paths_(paths) {}

  [[nodiscard]] Status Look(bool force, const ManifestHeader& source, PathTree& paths);
  [[nodiscard]] Status CheckStale(const std::set<PathNode>& files) const;
  [[nodiscard]] Status RemoveStale(const std::set<PathNode>& directories,
                                   const std::set<PathNode>& files) const;
  [[nodiscard]] Status CheckIsWhole(const Manifest& manifest) const;
  [[nodiscard]] Status MakeDirectory(const std::string& relative) const;
  [[nodiscard]] Status ClearStaging() const;
  [[nodiscard]] Result<HostFile> Replace(std::string_view name, std::string_view temporary,
                                         const TextSource& text) const;
  [[nodiscard]] Result<HostFile> PutManifest(const Manifest& manifest) const;

  const HostDirectory directory_;  // locked
  const mode_t file_mode_;
  const PathTree& paths_;
  Manifest known_;  // of the earlier run; both runs have the same header
  bool begun_ = false;

  mutable Mutex mutex_;  // held during the write of a line
  Manifest manifest_ GUARDED_BY(mutex_);
  std::unique_ptr<HostFile> lines_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
