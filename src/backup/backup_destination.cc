#include "backup/backup_destination.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

namespace zenfs {
namespace {

bool IsOurs(std::string_view name) {
  return name == kManifestFile || name == kHintsFile || name == kBackupStaging;
}

Status CheckIsDirectory(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatHostTarget(path));
  if (stat.kind == HostStat::Kind::kMissing) return MakeHostDirectory(path);
  if (stat.kind == HostStat::Kind::kDirectory) return {};
  return Fail(Code::kNotADirectory, fmt::format("{} is a file; name a directory for the backup", path));
}

}  // namespace

Result<std::unique_ptr<BackupDestination>> BackupDestination::Open(const std::string& path, bool force,
                                                                   const ManifestHeader& source) {
  ZENFS_RETURN_IF_ERROR(CheckIsDirectory(path));
  UniqueFd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid()) return FailErrno(errno, fmt::format("{} could not be opened", path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Fail(Code::kBusy, fmt::format("another backup is being written to {}", path));
  }
  std::unique_ptr<BackupDestination> destination(new BackupDestination(path, std::move(lock)));
  ZENFS_RETURN_IF_ERROR(destination->Look(force, source));
  return destination;
}

BackupDestination::~BackupDestination() { IgnoreError(RemoveHostDirectory(TemporaryPath(""))); }

// A `known_` that is not of this source is forgotten.
Status BackupDestination::Look(bool force, const ManifestHeader& source) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListHost(path_));
  auto found = ReadManifest(path_);
  if (found && found->header.SameSource(source)) {
    if (found->complete && !force) {
      return Fail(Code::kExists,
                  fmt::format("{} holds a complete backup of this; --force brings it up to date", path_));
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
                            path_));
  }
  if (found.error().code() != Code::kNotFound) {
    return Fail(Error(found.error().code(),
                      fmt::format("{}; --force begins the backup anew", found.error().ToString())));
  }
  const auto foreign = [](const std::string& name) { return name != kBackupStaging && name != "lost+found"; };
  if (std::any_of(names.begin(), names.end(), foreign)) {
    return Fail(Code::kExists, fmt::format("{} is not empty; name another directory, or --force to replace "
                                           "files of the same names",
                                           path_));
  }
  return {};
}

std::string BackupDestination::TemporaryPath(std::string_view name) const {
  const std::string directory = fmt::format("{}/{}", path_, kBackupStaging);
  return name.empty() ? directory : fmt::format("{}/{}", directory, name);
}

Status BackupDestination::ClearStaging() {
  ZENFS_RETURN_IF_ERROR(MakeHostDirectory(TemporaryPath("")));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> left, ListHost(TemporaryPath("")));
  for (const std::string& name : left) ZENFS_RETURN_IF_ERROR(RemoveHostFile(TemporaryPath(name)));
  return {};
}

Status BackupDestination::WriteManifest(const Manifest& manifest) {
  const std::string temporary = TemporaryPath("manifest");
  const Status written =
      ReplaceHostFile(PathOf(std::string(kManifestFile)), temporary, ManifestText(manifest));
  if (!written) IgnoreError(RemoveHostFile(temporary));  // the next run removes it, if this can't
  return written;
}

Status BackupDestination::Begin(std::set<std::string> directories, std::map<std::string, ManifestFile> kept,
                                const std::set<std::string>& paths) {
  for (const auto& own : {directories, paths}) {
    const auto clash = std::find_if(own.begin(), own.end(), IsOurs);
    if (clash == own.end()) continue;
    return Fail(Code::kExists, fmt::format("{} is the name of a file of the backup itself; rename it in the "
                                           "volume first (zenfs rename)",
                                           *clash));
  }
  ZENFS_RETURN_IF_ERROR(ClearStaging());
  // The end line goes before anything else changes.
  known_.complete = false;
  ZENFS_RETURN_IF_ERROR(WriteManifest(known_));
  begun_ = true;
  for (const auto& [path, file] : known_.files) {
    if (!paths.contains(path)) ZENFS_RETURN_IF_ERROR(RemoveHostFile(PathOf(path)));
  }
  for (auto it = known_.directories.rbegin(); it != known_.directories.rend(); ++it) {
    // One that has something of somebody else's in it stays.
    if (!directories.contains(*it)) IgnoreError(RemoveHostDirectory(PathOf(*it)));
  }
  for (const std::string& directory : directories) {
    ZENFS_RETURN_IF_ERROR(MakeHostDirectory(PathOf(directory)));
  }
  MutexLock lock(mutex_);
  manifest_.header = known_.header;
  manifest_.directories = std::move(directories);
  manifest_.files = std::move(kept);
  ZENFS_RETURN_IF_ERROR(WriteManifest(manifest_));
  ZENFS_ASSIGN_OR_RETURN(HostFile lines, HostFile::OpenForAppend(PathOf(std::string(kManifestFile))));
  lines_ = std::make_unique<HostFile>(std::move(lines));
  return {};
}

Result<HostFile> BackupDestination::CreateTemporary(std::size_t number) const {
  return HostFile::Create(TemporaryPath(std::to_string(number)));
}

void BackupDestination::DropTemporary(std::size_t number) const {
  // The next run removes it, if this can't.
  IgnoreError(RemoveHostFile(TemporaryPath(std::to_string(number))));
}

Status BackupDestination::Accept(std::size_t number, const std::string& relative, const ManifestFile& file) {
  ZENFS_RETURN_IF_ERROR(RenameHost(TemporaryPath(std::to_string(number)), PathOf(relative)));
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(lines_->Append(AsBytes(ManifestLine(relative, file))));
  manifest_.files[relative] = file;
  return {};
}

Status BackupDestination::Forget(const std::string& relative) {
  ZENFS_RETURN_IF_ERROR(
      RemoveHostFile(PathOf(relative)));  // its line stays for now, and has no file any more
  MutexLock lock(mutex_);
  manifest_.files.erase(relative);
  return {};
}

Status BackupDestination::Finish(const LifetimeHints& hints) {
  ZENFS_RETURN_IF_ERROR(
      ReplaceHostFile(PathOf(std::string(kHintsFile)), TemporaryPath("hints"), hints.Text()));
  Manifest manifest;
  {
    MutexLock lock(mutex_);
    lines_.reset();
    manifest = manifest_;
  }
  for (const std::string& directory : manifest.directories) {
    ZENFS_RETURN_IF_ERROR(SyncHostDirectory(PathOf(directory)));
  }
  ZENFS_RETURN_IF_ERROR(SyncHostDirectory(path_));
  manifest.complete = true;
  ZENFS_RETURN_IF_ERROR(WriteManifest(manifest));
  ZENFS_RETURN_IF_ERROR(ClearStaging());
  return RemoveHostDirectory(TemporaryPath(""));
}

std::size_t BackupDestination::files() const {
  MutexLock lock(mutex_);
  return manifest_.files.size();
}

}  // namespace zenfs
