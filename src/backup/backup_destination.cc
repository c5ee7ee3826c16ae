#include "backup/backup_destination.h"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"

namespace zenfs {
namespace {

constexpr std::size_t kWrittenAtOnce = 256 << 10;

// Path below the directory. Names in it are the numbers of files, and two more.
std::string StagingPath(std::string_view name) { return fmt::format("{}/{}", kBackupStaging, name); }

// Readers of a directory can also enter it.
mode_t DirectoryMode(mode_t file_mode) { return file_mode | ((file_mode & 0444) >> 2); }

}  // namespace

Result<std::unique_ptr<BackupDestination>> BackupDestination::Open(const std::string& path, bool force,
                                                                   const ManifestHeader& source,
                                                                   mode_t file_mode, PathTree& paths) {
  auto directory = HostDirectory::OpenOrMake(path, DirectoryMode(file_mode));
  if (!directory && directory.error().code() == Code::kNotADirectory) {
    return Fail(directory.error().Advise("name a directory for the backup"));
  }
  if (!directory) return Fail(directory.error());
  if (::flock(directory->descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Fail(Code::kBusy, fmt::format("another backup is being written to {}", path));
  }
  std::unique_ptr<BackupDestination> destination(
      new BackupDestination(*std::move(directory), file_mode, paths));
  ZENFS_RETURN_IF_ERROR(destination->Look(force, source, paths));
  return destination;
}

BackupDestination::~BackupDestination() {
  IgnoreError(directory_.RemoveDirectory(std::string(kBackupStaging)));
}

// Drops `known_` if it is of another source.
Status BackupDestination::Look(bool force, const ManifestHeader& source, PathTree& paths) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory_.List(""));
  auto found = ReadManifest(directory_, paths);
  if (found && found->header.SameSource(source)) {
    if (found->complete && !force) {
      return Fail(
          Code::kExists,
          fmt::format("{} holds a complete backup of this; --force brings it up to date", directory_.path()));
    }
    known_ = *std::move(found);
    return {};
  }
  known_.header = source;
  known_.header.backup = Uuid::Generate();
  known_.header.started_seconds = WallSeconds();
  if (force) return {};
  if (found) {
    return Fail(Code::kExists,
                fmt::format("{} holds a backup of something else; name another directory, or --force to "
                            "replace files of the same names",
                            directory_.path()));
  }
  if (found.error().code() != Code::kNotFound) {
    return Fail(Error(found.error().code(),
                      fmt::format("{}; --force begins the backup anew", found.error().ToString())));
  }
  const auto foreign = [](const std::string& name) { return name != kBackupStaging && name != "lost+found"; };
  if (std::any_of(names.begin(), names.end(), foreign)) {
    return Fail(Code::kExists, fmt::format("{} is not empty; name another directory, or --force to replace "
                                           "files of the same names",
                                           directory_.path()));
  }
  return {};
}

Status BackupDestination::MakeDirectory(const std::string& relative) const {
  return directory_.MakeDirectory(relative, DirectoryMode(file_mode_));
}

Status BackupDestination::ClearStaging() const {
  const std::string staging(kBackupStaging);
  ZENFS_RETURN_IF_ERROR(MakeDirectory(staging));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> left, directory_.List(staging));
  for (const std::string& name : left) ZENFS_RETURN_IF_ERROR(directory_.RemoveFile(StagingPath(name)));
  return {};
}

Result<HostFile> BackupDestination::Replace(std::string_view name, std::string_view temporary,
                                            const TextSource& text) const {
  const std::string path = StagingPath(temporary);
  auto replaced = directory_.Replace(std::string(name), path, file_mode_, [&](HostFile& file) -> Status {
    std::string pieces;
    ZENFS_RETURN_IF_ERROR(text([&](std::string_view piece) -> Status {
      pieces += piece;
      if (pieces.size() < kWrittenAtOnce) return {};
      return file.Append(AsBytes(std::exchange(pieces, {})));
    }));
    return file.Append(AsBytes(pieces));
  });
  if (!replaced) IgnoreError(directory_.RemoveFile(path));  // if this fails, the next run removes it
  return replaced;
}

// Returns the open file, so that lines go to this file even if its name changes.
Result<HostFile> BackupDestination::PutManifest(const Manifest& manifest) const {
  return Replace(kManifestFile, "manifest",
                 [&](const TextSink& sink) { return WriteManifest(manifest, paths_, sink); });
}

// Reports a symbolic link on the way to one of them before the end line is removed.
Status BackupDestination::CheckStale(const std::set<PathNode>& files) const {
  for (const auto& [node, file] : known_.files) {
    if (files.contains(node)) continue;
    const auto stat = directory_.Stat(paths_.PathOf(node));
    if (!stat && !IsUnfitName(stat.error())) return Fail(stat.error());
  }
  return {};
}

Status BackupDestination::RemoveStale(const std::set<PathNode>& directories,
                                      const std::set<PathNode>& files) const {
  for (const auto& [node, file] : known_.files) {
    if (files.contains(node)) continue;
    const Status removed = directory_.RemoveFile(paths_.PathOf(node));
    if (!removed.ok() && !IsUnfitName(removed.error())) return removed;
  }
  // What is in a directory before the directory.
  for (auto it = known_.directories.rbegin(); it != known_.directories.rend(); ++it) {
    // A directory that contains files of somebody else stays.
    if (!directories.contains(*it)) IgnoreError(directory_.RemoveDirectory(paths_.PathOf(*it)));
  }
  return {};
}

Result<std::optional<std::string>> BackupDestination::WhyUnfit(PathNode node) const {
  const std::string relative = paths_.PathOf(node);
  if (IsBackupsOwn(relative.substr(0, relative.find('/')))) {
    return "it is the name of a file of the backup itself; rename it in the volume first (zenfs rename)";
  }
  const auto stat = directory_.Stat(relative);
  if (stat) return std::nullopt;
  if (!IsUnfitName(stat.error())) return Fail(stat.error());
  return UnfitReason(stat.error());
}

Result<BackupDestination::Unfit> BackupDestination::Begin(const std::vector<PathNode>& directories,
                                                          std::map<PathNode, ManifestFile> kept,
                                                          const std::set<PathNode>& files) {
  ZENFS_ASSERT(!begun_);
  ZENFS_RETURN_IF_ERROR(CheckStale(files));
  ZENFS_RETURN_IF_ERROR(ClearStaging());
  // Remove the end line before anything else changes.
  known_.complete = false;
  ZENFS_RETURN_IF_ERROR(PutManifest(known_));
  begun_ = true;
  ZENFS_RETURN_IF_ERROR(RemoveStale({directories.begin(), directories.end()}, files));
  Unfit unfit;
  std::set<PathNode> made;
  for (const PathNode directory : directories) {
    const Status done = MakeDirectory(paths_.PathOf(directory));
    if (done.ok()) {
      made.insert(directory);
    } else if (const auto parent = unfit.find(paths_.DirectoryOf(directory)); parent != unfit.end()) {
      unfit[directory] = parent->second;
    } else if (IsUnfitName(done.error())) {
      unfit[directory] = UnfitReason(done.error());
    } else {
      return Fail(done.error());
    }
  }
  MutexLock lock(mutex_);
  manifest_.header = known_.header;
  manifest_.directories = std::move(made);
  manifest_.files = std::move(kept);
  ZENFS_ASSIGN_OR_RETURN(HostFile lines, PutManifest(manifest_));
  lines_ = std::make_unique<HostFile>(std::move(lines));
  return unfit;
}

Result<HostFile> BackupDestination::CreateTemporary(std::size_t number) const {
  return directory_.Create(StagingPath(std::to_string(number)), file_mode_);
}

void BackupDestination::DropTemporary(std::size_t number) const {
  // If this fails, the next run removes it.
  IgnoreError(directory_.RemoveFile(StagingPath(std::to_string(number))));
}

Status BackupDestination::Accept(std::size_t number, PathNode node, const ManifestFile& file) {
  const std::string relative = paths_.PathOf(node);
  ZENFS_RETURN_IF_ERROR(directory_.Rename(StagingPath(std::to_string(number)), relative));
  MutexLock lock(mutex_);
  ZENFS_ASSERT(lines_ != nullptr);  // between Begin and Finish
  ZENFS_RETURN_IF_ERROR(lines_->Append(AsBytes(ManifestLine(relative, file))));
  manifest_.files[node] = file;
  return {};
}

Status BackupDestination::Keep(PathNode node) {
  const auto known = known_.files.find(node);
  if (known == known_.files.end()) return {};
  const std::string relative = paths_.PathOf(node);
  ZENFS_ASSIGN_OR_RETURN(const HostStat copy, directory_.Stat(relative));
  if (copy.kind != HostStat::Kind::kFile || copy.size != known->second.size) return {};
  MutexLock lock(mutex_);
  ZENFS_ASSERT(lines_ != nullptr);
  if (!manifest_.files.emplace(*known).second) return {};
  return lines_->Append(AsBytes(ManifestLine(relative, known->second)));
}

Status BackupDestination::Forget(PathNode node) {
  // Its line stays for now, without a file.
  ZENFS_RETURN_IF_ERROR(directory_.RemoveFile(paths_.PathOf(node)));
  MutexLock lock(mutex_);
  manifest_.files.erase(node);
  return {};
}

// Another program may have moved a directory away while files were put into it.
Status BackupDestination::CheckIsWhole(const Manifest& manifest) const {
  ZENFS_RETURN_IF_ERROR(directory_.CheckStillNamed());
  for (const auto& [node, file] : manifest.files) {
    const std::string path = paths_.PathOf(node);
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, directory_.Stat(path));
    if (stat.kind == HostStat::Kind::kFile && stat.size == file.size) continue;
    return Fail(Code::kCorruption,
                fmt::format("{} was removed or changed by another program", directory_.PathOf(path)));
  }
  return {};
}

Status BackupDestination::Finish(const TextSource& hints, Unfit missing) {
  ZENFS_RETURN_IF_ERROR(Replace(kHintsFile, "hints", hints));
  MutexLock lock(mutex_);  // no other thread uses it any more
  ZENFS_ASSERT(lines_ != nullptr && !manifest_.complete);
  lines_.reset();
  for (const PathNode directory : manifest_.directories) {
    ZENFS_RETURN_IF_ERROR(directory_.Sync(paths_.PathOf(directory)));
  }
  ZENFS_RETURN_IF_ERROR(directory_.Sync(""));
  ZENFS_RETURN_IF_ERROR(CheckIsWhole(manifest_));
  manifest_.missing = std::move(missing);
  manifest_.complete = true;
  ZENFS_RETURN_IF_ERROR(PutManifest(manifest_));
  ZENFS_RETURN_IF_ERROR(ClearStaging());
  return directory_.RemoveDirectory(std::string(kBackupStaging));
}

std::size_t BackupDestination::files() const {
  MutexLock lock(mutex_);
  return manifest_.files.size();
}

}  // namespace zenfs
