#include "volume/aux_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

#include "volume/aux_marker.h"

namespace zenfs {
namespace {

using Kind = HostStat::Kind;

constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kFileMode = 0644;

std::string OthersMayWrite(const std::string& path) {
  return fmt::format(
      "{} belongs to another user or is writable by all; give it to root or the user of this process, with "
      "mode 0755",
      path);
}

std::string Below(std::string_view directory, std::string_view name) {
  return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

}  // namespace

bool AuxDirectory::Keeps(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name == "LOG" || name == "LOCK" || name.starts_with("LOG.old.");
}

std::string AuxDirectory::HostPath(std::string_view path) const { return Below(host_path_, path); }

Error AuxDirectory::Unusable(std::string_view reason) const {
  return Error(
      Code::kIo,
      fmt::format("the aux directory {}, where LOG and LOCK of this file system are kept, can't be used: {}",
                  host_path_, reason));
}

Status AuxDirectory::Check() const {
  std::string name;
  const auto parent = HostDirectory::OpenParentOf(host_path_, name);
  const auto found = parent ? parent->Stat(name) : Result<HostStat>(std::unexpected(parent.error()));
  std::string reason;
  if (!found) {
    reason = found.error().ToString();
  } else if (found->kind == Kind::kMissing) {
    reason = std::generic_category().message(ENOENT);
  } else if (found->kind != Kind::kDirectory) {
    reason = found->kind == Kind::kSymlink ? "it is a symbolic link" : "Not a directory";
  } else if (!IsOwnDirectory(*found)) {
    return Fail(Unusable(OthersMayWrite(host_path_)));
  } else if (::access(host_path_.c_str(), R_OK | X_OK) != 0) {
    reason = std::generic_category().message(errno);
  }
  if (reason.empty()) return {};
  return Fail(Unusable(reason + "; restore it or create an empty one: it holds no data"));
}

Result<HostDirectory> AuxDirectory::Open() const {
  ZENFS_RETURN_IF_ERROR(Check());
  auto opened = HostDirectory::Open(host_path_);
  if (!opened) return Fail(Unusable(opened.error().ToString()));
  return opened;
}

Result<HostStat> AuxDirectory::Look(const HostDirectory& host, std::string_view path) const {
  if (path.size() >= PATH_MAX) return HostStat{};  // the host can't have it
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = path.find('/', end == 0 ? 0 : end + 1);
    const std::string part(path.substr(0, end));
    const auto stat = host.Stat(part);
    if (!stat) return Fail(Unusable(stat.error().ToString()));
    if (stat->kind == Kind::kMissing) return HostStat{};
    const bool last = end == std::string_view::npos;
    if (last && stat->kind == Kind::kFile) return *stat;
    if (IsOwnDirectory(*stat)) {
      if (last) return *stat;
      continue;
    }
    if (stat->kind == Kind::kDirectory) return Fail(Unusable(OthersMayWrite(host.PathOf(part))));
    return Fail(Unusable(
        fmt::format("{} is {}; remove it", host.PathOf(part),
                    stat->kind == Kind::kSymlink ? "a symbolic link" : "no regular file or directory")));
  }
  return HostStat{};
}

Result<HostStat> AuxDirectory::Find(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_ASSIGN_OR_RETURN(const HostStat found, Look(host, path));
  return found.kind == Kind::kFile ? found : HostStat{};
}

Result<std::map<std::string, HostStat>> AuxDirectory::List(std::string_view directory) const {
  std::map<std::string, HostStat> files;
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  if (!directory.empty()) {
    ZENFS_ASSIGN_OR_RETURN(const HostStat found, Look(host, directory));
    if (found.kind != Kind::kDirectory) return files;
  }
  const auto names = host.List(std::string(directory));
  if (!names && names.error().code() == Code::kNotFound) return files;
  if (!names) return Fail(names.error());
  for (const std::string& name : *names) {
    if (!Keeps(name)) continue;
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, host.Stat(Below(directory, name)));
    if (stat.kind == Kind::kFile) files.emplace(name, stat);
  }
  return files;
}

Result<HostFile> AuxDirectory::OpenForRead(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_RETURN_IF_ERROR(Look(host, path));
  return host.OpenForRead(std::string(path));
}

Result<HostFile> AuxDirectory::OpenForAppend(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_RETURN_IF_ERROR(Look(host, path));
  return host.OpenForRead(std::string(path), HostDirectory::Access::kReadAndAppend);
}

Status AuxDirectory::PrepareNew(const HostDirectory& host, std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const HostStat there, Look(host, path));
  if (there.kind == Kind::kDirectory) {
    return Fail(Unusable(fmt::format("{} is a directory; remove it", HostPath(path))));
  }
  if (there.kind == Kind::kFile) return {};
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    ZENFS_RETURN_IF_ERROR(host.MakeDirectory(std::string(path.substr(0, slash)), kDirectoryMode));
  }
  return {};
}

Result<HostFile> AuxDirectory::Create(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_RETURN_IF_ERROR(PrepareNew(host, path));
  ZENFS_RETURN_IF_ERROR(host.Create(std::string(path), kFileMode));
  return host.OpenForRead(std::string(path), HostDirectory::Access::kReadAndAppend);
}

Result<HostFile> AuxDirectory::Lock(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_RETURN_IF_ERROR(PrepareNew(host, path));
  const auto made = host.CreateNew(std::string(path), kFileMode);
  if (!made && made.error().code() != Code::kExists) return Fail(made.error());
  ZENFS_ASSIGN_OR_RETURN(HostFile file,
                         host.OpenForRead(std::string(path), HostDirectory::Access::kReadAndAppend));
  ZENFS_RETURN_IF_ERROR(file.TakeLock());
  return file;
}

Status AuxDirectory::Remove(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_RETURN_IF_ERROR(Look(host, path));
  return host.RemoveFile(std::string(path));
}

Status AuxDirectory::Rename(std::string_view from, std::string_view to) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_RETURN_IF_ERROR(Look(host, from));
  ZENFS_RETURN_IF_ERROR(PrepareNew(host, to));
  return host.Rename(std::string(from), std::string(to));
}

Status AuxDirectory::Link(std::string_view existing, std::string_view new_name) const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_RETURN_IF_ERROR(Look(host, existing));
  ZENFS_RETURN_IF_ERROR(PrepareNew(host, new_name));
  return host.Link(std::string(existing), std::string(new_name));
}

Status AuxDirectory::RenameDirectory(std::string_view from, std::string_view to) const {
  ZENFS_ASSIGN_OR_RETURN(const auto stale, List(to));
  for (const auto& [name, stat] : stale) ZENFS_RETURN_IF_ERROR(Remove(Below(to, name)));
  ZENFS_RETURN_IF_ERROR(RemoveDirectory(to));
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_ASSIGN_OR_RETURN(const HostStat there, Look(host, from));
  if (there.kind == Kind::kMissing) return {};
  ZENFS_RETURN_IF_ERROR(PrepareNew(host, to));
  return host.Rename(std::string(from), std::string(to));
}

Status AuxDirectory::RemoveDirectory(std::string_view directory) const {
  if (directory.empty()) return {};
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory host, Open());
  ZENFS_ASSIGN_OR_RETURN(const HostStat there, Look(host, directory));
  if (there.kind == Kind::kMissing) return {};
  const Status removed = host.RemoveDirectory(std::string(directory));
  const bool others =
      !removed.ok() && (removed.error().code() == Code::kNotEmpty || removed.error().code() == Code::kExists);
  return others ? Status() : removed;
}

}  // namespace zenfs
