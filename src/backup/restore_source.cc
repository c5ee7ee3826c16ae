#include "backup/restore_source.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <memory>

#include "backup/manifest.h"
#include "backup/record_text.h"
#include "backup/volume_tree.h"
#include "base/counted.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

std::string AbsolutePath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), ::free);
  return resolved == nullptr ? path : std::string(resolved.get());
}

class SourceReader {
 public:
  SourceReader(HostDirectory directory, const std::string& path, const std::string& restore_path,
               bool partial)
      : partial_(partial), source_{.directory = std::move(directory), .into = NormalizePath(restore_path)} {
    source_.identity = fmt::format("{} to /{}", AbsolutePath(path), source_.into);
  }

  // `name`: the one file to restore; empty for all.
  Result<RestoreSource> Read(const std::string& name);

 private:
  Status ReadDirectory();
  Status ReadFile(const std::string& name);
  Status ReadBackup(const Manifest& manifest);
  Status ReadTree();
  Result<bool> ReadEntry(PathNode node);
  bool AddDirectory(PathNode node);
  Status ReadHints(LifetimeHints& hints) const;
  Status TakeHints();
  Status AddFile(PathNode node, const ManifestFile* listed);
  Status CheckName(PathNode node) const;
  void LeaveOut(Code code, PathNode node, std::string reason);
  Status RefuseDamage() const;

  const HostDirectory& directory() const { return source_.directory; }

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
  const auto manifest = ReadManifest(directory(), source_.paths);
  if (manifest) return ReadBackup(*manifest);
  if (manifest.error().code() != Code::kNotFound) {
    if (!partial_) {
      return Fail(Error(manifest.error().code(),
                        fmt::format("the backup's own record can't be used ({}); --partial restores the "
                                    "files unchecked",
                                    manifest.error().ToString())));
    }
    source_.paths = PathTree();  // of a part of the record
    source_.left_out.push_back(
        {kTopNode, fmt::format("has a record that can't be used, files are not checked ({})",
                               manifest.error().ToString())});
  }
  ZENFS_RETURN_IF_ERROR(ReadTree());
  return TakeHints();
}

Status SourceReader::RefuseDamage() const {
  if (source_.left_out.empty()) return {};
  const std::size_t more = source_.left_out.size() - 1;
  return Fail(first_code_, fmt::format("{}{}; --partial restores the complete files",
                                       source_.Text(source_.left_out.front()),
                                       more == 0 ? "" : fmt::format(", and {} more like this", more)));
}

void SourceReader::LeaveOut(Code code, PathNode node, std::string reason) {
  if (source_.left_out.empty()) first_code_ = code;
  source_.left_out.push_back({node, std::move(reason)});
}

// If the file is part of a backup, the manifest knows its attributes.
Status SourceReader::ReadFile(const std::string& name) {
  const auto manifest = ReadManifest(directory(), source_.paths);
  const PathNode node = source_.paths.Add(kTopNode, name);
  if (manifest) {
    if (const auto listed = manifest->files.find(node); listed != manifest->files.end()) {
      return AddFile(node, &listed->second);
    }
  }
  ZENFS_RETURN_IF_ERROR(AddFile(node, nullptr));
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
    source_.left_out.push_back({kTopNode, fmt::format("is an unfinished backup of {} so far",
                                                      Counted(manifest.files.size(), "file"))});
  }
  for (const auto& [node, reason] : manifest.missing) {
    source_.unreachable.push_back({node, fmt::format("is not in the backup: {}", reason)});
  }
  for (const PathNode directory : manifest.directories) AddDirectory(directory);
  for (const auto& [node, listed] : manifest.files) ZENFS_RETURN_IF_ERROR(AddFile(node, &listed));
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
  std::vector<PathNode> files;
  for (const RestoreItem& item : source_.items) files.push_back(item.node);
  LifetimeHints hints(source_.paths, files, source_.into);
  if (const Status read = ReadHints(hints); !read.ok()) {
    if (read.error().code() != Code::kCorruption) return read;
    source_.notices.push_back(
        fmt::format("files are restored without their lifetimes, {}", read.error().ToString()));
    return {};
  }
  for (RestoreItem& item : source_.items) {
    item.lifetime = hints.Find(item.node).value_or(Lifetime::kNotSet);
  }
  return {};
}

// Depth first, by name.
Status SourceReader::ReadTree() {
  struct Level {
    PathNode node;
    std::vector<std::string> names;
    std::size_t next = 0;
  };
  std::vector<Level> levels;
  const auto enter = [&](PathNode node) -> Status {
    ZENFS_ASSIGN_OR_RETURN(auto names, directory().List(source_.paths.PathOf(node)));
    levels.push_back({.node = node, .names = std::move(names)});
    return {};
  };
  ZENFS_RETURN_IF_ERROR(enter(kTopNode));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.names.size()) {
      levels.pop_back();
      continue;
    }
    const std::string& name = level.names[level.next++];
    if (level.node == kTopNode && IsBackupsOwn(name)) continue;
    const PathNode below = source_.paths.Add(level.node, name);
    ZENFS_ASSIGN_OR_RETURN(const bool is_directory, ReadEntry(below));
    if (is_directory) ZENFS_RETURN_IF_ERROR(enter(below));
  }
  return {};
}

// Returns true for a directory whose content is to be restored.
Result<bool> SourceReader::ReadEntry(PathNode node) {
  const auto looked = directory().Stat(source_.paths.PathOf(node));
  if (!looked && IsUnfitName(looked.error())) {
    source_.unreachable.push_back({node, UnfitReason(looked.error())});
    return false;
  }
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, looked);
  if (stat.kind == HostStat::Kind::kDirectory) return AddDirectory(node);
  ZENFS_RETURN_IF_ERROR(AddFile(node, nullptr));
  return false;
}

// Returns false if it is left out.
bool SourceReader::AddDirectory(PathNode node) {
  if (const Status fits = CheckName(node); !fits.ok()) {
    LeaveOut(Code::kInvalidArgument, node, fits.error().text());
    return false;
  }
  source_.directories.push_back(node);
  return true;
}

Status SourceReader::CheckName(PathNode node) const {
  const std::string destination = source_.Destination(node);
  if (const Status fits = CheckPathLimits(destination); !fits.ok()) {
    return Fail(fits.error().With("can't be in the volume"));
  }
  if (!IsRestoresOwn(std::string_view(destination).substr(0, destination.find('/')))) return {};
  return Fail(Code::kInvalidArgument, "can't be in the volume: restores use this name there for themselves");
}

Status SourceReader::AddFile(PathNode node, const ManifestFile* listed) {
  const auto looked = directory().Stat(source_.paths.PathOf(node));
  if (!looked && IsUnfitName(looked.error())) {
    source_.unreachable.push_back({node, UnfitReason(looked.error())});
    return {};
  }
  const auto leave_out = [&](Code code, std::string reason) -> Status {
    LeaveOut(code, node, std::move(reason));
    return {};
  };
  if (!looked && looked.error().code() == Code::kNotADirectory) return leave_out(Code::kNotSupported, "");
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, looked);
  if (stat.kind == HostStat::Kind::kMissing) return leave_out(Code::kCorruption, "is missing");
  if (stat.kind != HostStat::Kind::kFile) {
    const bool link = stat.kind == HostStat::Kind::kSymlink;
    return leave_out(Code::kNotSupported,
                     fmt::format("is {}, which a volume can't hold",
                                 link ? "a symbolic link" : "neither a file nor a directory"));
  }
  if (listed != nullptr && stat.size != listed->size) {
    return leave_out(Code::kCorruption,
                     fmt::format("has {} bytes, the backup had {}", stat.size, listed->size));
  }
  if (const Status fits = CheckName(node); !fits.ok()) {
    return leave_out(Code::kInvalidArgument, fits.error().text());
  }
  RestoreItem item{.node = node, .size = stat.size, .mtime_ns = stat.mtime_ns, .crc32c = std::nullopt};
  if (listed != nullptr) {
    item.crc32c = listed->crc32c;
    item.lifetime = listed->lifetime;
  }
  source_.items.push_back(item);
  return {};
}

}  // namespace

std::string RestoreSource::Text(const Omission& omission) const {
  const std::string path = HostPath(omission.node);
  if (!omission.reason.empty()) return fmt::format("{} {}", path, omission.reason);
  const auto looked = directory.Stat(paths.PathOf(omission.node));
  return fmt::format("{} can't be reached: {}", path,
                     looked ? "another program has changed the way to it meanwhile" : looked.error().text());
}

Result<RestoreSource> OpenRestoreSource(const std::string& path, const std::string& restore_path,
                                        bool partial) {
  auto directory = HostDirectory::Open(path);
  std::string name;
  if (!directory && directory.error().code() == Code::kNotADirectory) {
    directory = HostDirectory::OpenParentOf(path, name);
  }
  if (!directory && directory.error().code() == Code::kNotFound) {
    // With an errno it is that of the path itself.
    return Fail(directory.error().os_errno() == 0
                    ? directory.error()
                    : Error(Code::kNotFound, fmt::format("{}: no such file or directory", path)));
  }
  if (!directory) return Fail(directory.error());
  return SourceReader(*std::move(directory), path, restore_path, partial).Read(name);
}

}  // namespace zenfs
