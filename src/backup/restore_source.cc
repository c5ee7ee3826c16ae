#include "backup/restore_source.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <memory>

#include "backup/backup_destination.h"
#include "backup/path_text.h"
#include "backup/volume_tree.h"
#include "base/counted.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMaxHintsBytes = std::uint64_t{1} << 32;
constexpr std::size_t kMaxNameBytes = 255;

bool IsBackupsOwn(std::string_view name) {
  return name == kManifestFile || name == kHintsFile || name == kBackupStaging;
}

std::string AbsolutePath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), ::free);
  return resolved == nullptr ? path : std::string(resolved.get());
}

class SourceReader {
 public:
  SourceReader(std::string path, const std::string& restore_path, bool partial)
      : path_(std::move(path)), into_(NormalizePath(restore_path)), partial_(partial) {}

  Result<RestoreSource> Read();

 private:
  Status ReadFile();
  Status ReadBackup(const Manifest& manifest);
  Status ReadTree(const std::string& relative);
  Status ReadHints(const std::string& directory);
  Status AddFile(const std::string& directory, const std::string& relative, const ManifestFile* listed);
  Status CheckName(const std::string& relative) const;
  Status LeaveOut(Code code, std::string what);
  Status RefuseDamage() const;

  const std::string path_;
  const std::string into_;
  const bool partial_;
  LifetimeHints hints_;
  RestoreSource source_;
  Code first_code_ = Code::kCorruption;
};

Result<RestoreSource> SourceReader::Read() {
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatHostTarget(path_));
  if (stat.kind == HostStat::Kind::kMissing) {
    return Fail(Code::kNotFound, fmt::format("{}: no such file or directory", path_));
  }
  source_.identity = fmt::format("{} to /{}", AbsolutePath(path_), into_);
  if (stat.kind != HostStat::Kind::kDirectory) {
    ZENFS_RETURN_IF_ERROR(ReadFile());
  } else if (const auto manifest = ReadManifest(path_)) {
    ZENFS_RETURN_IF_ERROR(ReadBackup(*manifest));
  } else if (manifest.error().code() == Code::kNotFound) {
    ZENFS_RETURN_IF_ERROR(ReadHints(path_));
    ZENFS_RETURN_IF_ERROR(ReadTree(""));
  } else if (!partial_) {
    return Fail(Error(manifest.error().code(),
                      fmt::format("the backup's own record can't be used ({}); --partial restores the files "
                                  "unchecked",
                                  manifest.error().ToString())));
  } else {
    source_.left_out.push_back(fmt::format(
        "the backup's own record can't be used, files are not checked ({})", manifest.error().ToString()));
    ZENFS_RETURN_IF_ERROR(ReadHints(path_));
    ZENFS_RETURN_IF_ERROR(ReadTree(""));
  }
  if (!partial_) ZENFS_RETURN_IF_ERROR(RefuseDamage());
  return std::move(source_);
}

Status SourceReader::RefuseDamage() const {
  if (source_.left_out.empty()) return {};
  const std::size_t more = source_.left_out.size() - 1;
  return Fail(first_code_, fmt::format("{}{}; --partial restores what is whole", source_.left_out.front(),
                                       more == 0 ? "" : fmt::format(", and {} more like this", more)));
}

Status SourceReader::LeaveOut(Code code, std::string what) {
  if (source_.left_out.empty()) first_code_ = code;
  source_.left_out.push_back(std::move(what));
  return {};
}

// The backup it lies in, if it does, knows more of it.
Status SourceReader::ReadFile() {
  const std::size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  if (const auto manifest = ReadManifest(directory)) {
    if (const auto listed = manifest->files.find(name); listed != manifest->files.end()) {
      return AddFile(directory, name, &listed->second);
    }
  }
  ZENFS_RETURN_IF_ERROR(ReadHints(directory));
  return AddFile(directory, name, nullptr);
}

Status SourceReader::ReadBackup(const Manifest& manifest) {
  source_.identity += " " + manifest.header.backup.ToString();
  if (!manifest.complete) {
    if (!partial_) {
      return Fail(Code::kCorruption,
                  fmt::format("{} is an unfinished backup of {} so far; finish it with zenfs backup, or "
                              "restore what is there with --partial",
                              path_, Counted(manifest.files.size(), "file")));
    }
    source_.left_out.push_back(fmt::format("{} is an unfinished backup of {} so far", path_,
                                           Counted(manifest.files.size(), "file")));
  }
  for (const std::string& directory : manifest.directories) {
    source_.directories.push_back(JoinPath(into_, directory));
  }
  for (const auto& [relative, listed] : manifest.files) {
    ZENFS_RETURN_IF_ERROR(AddFile(path_, relative, &listed));
  }
  return {};
}

Status SourceReader::ReadHints(const std::string& directory) {
  const std::string path = fmt::format("{}/{}", directory, kHintsFile);
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatHost(path));
  if (stat.kind != HostStat::Kind::kFile) return {};
  ZENFS_ASSIGN_OR_RETURN(const std::string text, ReadHostFile(path, kMaxHintsBytes));
  hints_ = LifetimeHints::Parse(text);
  return {};
}

Status SourceReader::ReadTree(const std::string& relative) {
  ZENFS_ASSIGN_OR_RETURN(const auto names, ListHost(relative.empty() ? path_ : JoinPath(path_, relative)));
  for (const std::string& name : names) {
    if (relative.empty() && IsBackupsOwn(name)) continue;
    const std::string below = JoinPath(relative, name);
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatHost(JoinPath(path_, below)));
    if (stat.kind != HostStat::Kind::kDirectory) {
      ZENFS_RETURN_IF_ERROR(AddFile(path_, below, nullptr));
      continue;
    }
    if (const Status fits = CheckName(below); !fits) {
      ZENFS_RETURN_IF_ERROR(LeaveOut(Code::kInvalidArgument, fits.error().text()));
      continue;
    }
    source_.directories.push_back(JoinPath(into_, below));
    ZENFS_RETURN_IF_ERROR(ReadTree(below));
  }
  return {};
}

Status SourceReader::CheckName(const std::string& relative) const {
  const std::string destination = JoinPath(into_, relative);
  for (const std::string_view part : SplitPath(destination)) {
    if (part.size() > kMaxNameBytes) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: a name has more than {} bytes", relative, kMaxNameBytes));
    }
  }
  if (IsRestoresOwn(SplitPath(destination).front())) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: restores use this name in the volume for themselves", destination));
  }
  return {};
}

Status SourceReader::AddFile(const std::string& directory, const std::string& relative,
                             const ManifestFile* listed) {
  const std::string host_path = JoinPath(directory, relative);
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatHost(host_path));
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
  if (const Status fits = CheckName(relative); !fits) {
    return LeaveOut(Code::kInvalidArgument, fits.error().text());
  }
  RestoreItem item{.host_path = host_path,
                   .destination = JoinPath(into_, relative),
                   .size = stat.size,
                   .mtime_ns = stat.mtime_ns,
                   .crc32c = std::nullopt,
                   .lifetime = Lifetime::kNotSet};
  if (listed != nullptr) {
    item.crc32c = listed->crc32c;
    item.lifetime = listed->lifetime;
  } else {
    item.lifetime = hints_.Find(item.destination, relative).value_or(Lifetime::kNotSet);
  }
  source_.items.push_back(std::move(item));
  return {};
}

}  // namespace

std::uint64_t RestoreSource::bytes() const {
  std::uint64_t sum = 0;
  for (const RestoreItem& item : items) sum += item.size;
  return sum;
}

Result<RestoreSource> OpenRestoreSource(const std::string& path, const std::string& restore_path,
                                        bool partial) {
  return SourceReader(path, restore_path, partial).Read();
}

}  // namespace zenfs
