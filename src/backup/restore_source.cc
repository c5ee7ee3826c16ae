#include "backup/restore_source.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <memory>

#include "backup/backup_destination.h"
#include "backup/line_reader.h"
#include "backup/path_text.h"
#include "backup/volume_tree.h"
#include "base/counted.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

bool IsBackupsOwn(std::string_view name) {
  return name == kManifestFile || name == kHintsFile || name == kBackupStaging;
}

std::string AbsolutePath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), ::free);
  return resolved == nullptr ? path : std::string(resolved.get());
}

class SourceReader {
 public:
  SourceReader(HostDirectory directory, const std::string& path, const std::string& restore_path,
               bool partial)
      : into_(NormalizePath(restore_path)), partial_(partial), source_{.directory = std::move(directory)} {
    source_.identity = fmt::format("{} to /{}", AbsolutePath(path), into_);
  }

  // `name`: the one file to restore; empty for all.
  Result<RestoreSource> Read(const std::string& name);

 private:
  Status ReadDirectory();
  Status ReadFile(const std::string& name);
  Status ReadBackup(const Manifest& manifest);
  Status ReadTree();
  Result<bool> ReadEntry(const std::string& relative);
  Result<bool> AddDirectory(const std::string& relative);
  Status ReadHints(LifetimeHints& hints) const;
  Status TakeHints();
  Status AddFile(const std::string& relative, const ManifestFile* listed);
  Status CheckName(const std::string& relative) const;
  Status LeaveOut(Code code, std::string what);
  Status RefuseDamage() const;

  const HostDirectory& directory() const { return source_.directory; }

  const std::string into_;
  const bool partial_;
  RestoreSource source_;
  Code first_code_ = Code::kCorruption;
};

Result<RestoreSource> SourceReader::Read(const std::string& name) {
  ZENFS_RETURN_IF_ERROR(name.empty() ? ReadDirectory() : ReadFile(name));
  if (!partial_) ZENFS_RETURN_IF_ERROR(RefuseDamage());
  return std::move(source_);
}

Status SourceReader::ReadDirectory() {
  const auto manifest = ReadManifest(directory());
  if (manifest) return ReadBackup(*manifest);
  if (manifest.error().code() != Code::kNotFound) {
    if (!partial_) {
      return Fail(Error(manifest.error().code(),
                        fmt::format("the backup's own record can't be used ({}); --partial restores the "
                                    "files unchecked",
                                    manifest.error().ToString())));
    }
    source_.left_out.push_back(fmt::format(
        "the backup's own record can't be used, files are not checked ({})", manifest.error().ToString()));
  }
  ZENFS_RETURN_IF_ERROR(ReadTree());
  return TakeHints();
}

Status SourceReader::RefuseDamage() const {
  if (source_.left_out.empty()) return {};
  const std::size_t more = source_.left_out.size() - 1;
  return Fail(first_code_,
              fmt::format("{}{}; --partial restores the complete files", source_.left_out.front(),
                          more == 0 ? "" : fmt::format(", and {} more like this", more)));
}

Status SourceReader::LeaveOut(Code code, std::string what) {
  if (source_.left_out.empty()) first_code_ = code;
  source_.left_out.push_back(std::move(what));
  return {};
}

// If the file is part of a backup, the manifest knows its attributes.
Status SourceReader::ReadFile(const std::string& name) {
  if (const auto manifest = ReadManifest(directory())) {
    if (const auto listed = manifest->files.find(name); listed != manifest->files.end()) {
      return AddFile(name, &listed->second);
    }
  }
  ZENFS_RETURN_IF_ERROR(AddFile(name, nullptr));
  return TakeHints();
}

Status SourceReader::ReadBackup(const Manifest& manifest) {
  source_.identity += " " + manifest.header.backup.ToString();
  if (!manifest.complete) {
    if (!partial_) {
      return Fail(Code::kCorruption, fmt::format("{} is an unfinished backup of {} so far; finish it with "
                                                 "zenfs backup, or restore these with --partial",
                                                 directory().path(), Counted(manifest.files.size(), "file")));
    }
    source_.left_out.push_back(fmt::format("{} is an unfinished backup of {} so far", directory().path(),
                                           Counted(manifest.files.size(), "file")));
  }
  for (const auto& [relative, reason] : manifest.missing) {
    source_.unreachable.push_back(fmt::format("{} is not in the backup: {}", relative, reason));
  }
  for (const std::string& directory : manifest.directories) {
    ZENFS_RETURN_IF_ERROR(AddDirectory(directory));
  }
  for (const auto& [relative, listed] : manifest.files) {
    ZENFS_RETURN_IF_ERROR(AddFile(relative, &listed));
  }
  return {};
}

Status SourceReader::ReadHints(LifetimeHints& hints) const {
  const std::string name(kHintsFile);
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, directory().Stat(name));
  if (stat.kind != HostStat::Kind::kFile) return {};
  ZENFS_ASSIGN_OR_RETURN(const HostFile file, directory().OpenForRead(name));
  ZENFS_ASSIGN_OR_RETURN(const HostStat opened, file.Stat());
  if (opened.size > kMaxManifestBytes) {
    return Fail(Code::kCorruption,
                fmt::format("{} has {} bytes, more than {}", file.path(), opened.size, kMaxManifestBytes));
  }
  LineReader lines([&](std::uint64_t offset, ByteSpan into) { return file.Read(offset, into); });
  for (;;) {
    const auto line = lines.Next();
    if (!line) return Fail(line.error().With(file.path()));
    if (!*line) return {};
    hints.TakeLine((*line)->text);
  }
}

// Sets the lifetimes of all items. They only advise where files are placed, so a damaged file of hints is no error.
Status SourceReader::TakeHints() {
  std::vector<std::string_view> paths;
  for (const RestoreItem& item : source_.items) {
    paths.push_back(item.destination);
    paths.push_back(item.relative);
  }
  LifetimeHints hints;
  hints.KeepOnlyFor(std::move(paths));
  if (const Status read = ReadHints(hints); !read.ok()) {
    if (read.error().code() != Code::kCorruption) return read;
    source_.notices.push_back(
        fmt::format("files are restored without their lifetimes, {}", read.error().ToString()));
    return {};
  }
  for (RestoreItem& item : source_.items) {
    item.lifetime = hints.Find(item.destination, item.relative).value_or(Lifetime::kNotSet);
  }
  return {};
}

// Depth first, by name.
Status SourceReader::ReadTree() {
  struct Level {
    std::string relative;
    std::vector<std::string> names;
    std::size_t next = 0;
  };
  std::vector<Level> levels;
  const auto enter = [&](const std::string& relative) -> Status {
    ZENFS_ASSIGN_OR_RETURN(auto names, directory().List(relative));
    levels.push_back({.relative = relative, .names = std::move(names)});
    return {};
  };
  ZENFS_RETURN_IF_ERROR(enter(""));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.names.size()) {
      levels.pop_back();
      continue;
    }
    const std::string& name = level.names[level.next++];
    if (level.relative.empty() && IsBackupsOwn(name)) continue;
    const std::string below = JoinPath(level.relative, name);
    ZENFS_ASSIGN_OR_RETURN(const bool is_directory, ReadEntry(below));
    if (is_directory) ZENFS_RETURN_IF_ERROR(enter(below));
  }
  return {};
}

// Returns true for a directory whose content is to be restored.
Result<bool> SourceReader::ReadEntry(const std::string& relative) {
  const auto looked = directory().Stat(relative);
  if (!looked && IsUnfitName(looked.error())) {
    source_.unreachable.push_back(looked.error().With(relative).ToString());
    return false;
  }
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, looked);
  if (stat.kind == HostStat::Kind::kDirectory) return AddDirectory(relative);
  ZENFS_RETURN_IF_ERROR(AddFile(relative, nullptr));
  return false;
}

Result<bool> SourceReader::AddDirectory(const std::string& relative) {
  if (const Status fits = CheckName(relative); !fits.ok()) {
    ZENFS_RETURN_IF_ERROR(LeaveOut(Code::kInvalidArgument, fits.error().ToString()));
    return false;
  }
  source_.directories.push_back(JoinPath(into_, relative));
  return true;
}

Status SourceReader::CheckName(const std::string& relative) const {
  const std::string destination = JoinPath(into_, relative);
  if (const Status fits = CheckPathLimits(destination); !fits.ok()) return Fail(fits.error().With(relative));
  const std::string_view first = std::string_view(destination).substr(0, destination.find('/'));
  if (IsRestoresOwn(first)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: restores use this name in the volume for themselves", destination));
  }
  return {};
}

Status SourceReader::AddFile(const std::string& relative, const ManifestFile* listed) {
  const std::string host_path = directory().PathOf(relative);
  const auto looked = directory().Stat(relative);
  if (!looked && IsUnfitName(looked.error())) {
    source_.unreachable.push_back(looked.error().With(relative).ToString());
    return {};
  }
  if (!looked && looked.error().code() == Code::kNotADirectory) {
    return LeaveOut(Code::kNotSupported,
                    fmt::format("{} can't be reached: {}", host_path, looked.error().text()));
  }
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, looked);
  if (stat.kind == HostStat::Kind::kMissing) {
    return LeaveOut(Code::kCorruption, fmt::format("{} is missing", host_path));
  }
  if (stat.kind != HostStat::Kind::kFile) {
    const bool link = stat.kind == HostStat::Kind::kSymlink;
    return LeaveOut(Code::kNotSupported,
                    fmt::format("{} is {}, which a volume can't hold", host_path,
                                link ? "a symbolic link" : "neither a file nor a directory"));
  }
  if (listed != nullptr && stat.size != listed->size) {
    return LeaveOut(Code::kCorruption,
                    fmt::format("{} has {} bytes, the backup had {}", host_path, stat.size, listed->size));
  }
  if (const Status fits = CheckName(relative); !fits.ok()) {
    return LeaveOut(Code::kInvalidArgument, fits.error().ToString());
  }
  RestoreItem item{.relative = relative,
                   .host_path = host_path,
                   .destination = JoinPath(into_, relative),
                   .size = stat.size,
                   .mtime_ns = stat.mtime_ns,
                   .crc32c = std::nullopt,
                   .lifetime = Lifetime::kNotSet};
  if (listed != nullptr) {
    item.crc32c = listed->crc32c;
    item.lifetime = listed->lifetime;
  }
  source_.items.push_back(std::move(item));
  return {};
}

}  // namespace

Result<RestoreSource> OpenRestoreSource(const std::string& path, const std::string& restore_path,
                                        bool partial) {
  auto directory = HostDirectory::Open(path);
  std::string name;
  if (!directory && directory.error().code() == Code::kNotADirectory) {
    directory = HostDirectory::OpenParentOf(path, name);
  }
  if (!directory && directory.error().code() == Code::kNotFound) {
    return Fail(Code::kNotFound, fmt::format("{}: no such file or directory", path));
  }
  if (!directory) return Fail(directory.error());
  return SourceReader(*std::move(directory), path, restore_path, partial).Read(name);
}

}  // namespace zenfs
