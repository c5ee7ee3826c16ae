#include "rocksdb_plugin/aux_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/host_directory.h"
#include "volume/aux_marker.h"
#include "volume/volume.h"

namespace zenfs {

namespace {

const IOOptions kHostIo;

std::string Unusable(const std::string& directory) {
  return fmt::format("the aux directory {}, where LOG and LOCK of this file system are kept, can't be used",
                     directory);
}

std::string OthersMayWrite(const std::string& path) {
  return fmt::format(
      "{} belongs to another user or is writable by all; give it to root or the user of this process, with "
      "mode 0755",
      path);
}

bool IsMissing(const IOStatus& status) { return status.IsNotFound() || status.IsPathNotFound(); }

}  // namespace

AuxDirectory::AuxDirectory(std::string host_path)
    : host_path_(std::move(host_path)), host_(rocksdb::FileSystem::Default()) {}

bool AuxDirectory::Keeps(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name == "LOG" || name == "LOCK" || name.starts_with("LOG.old.");
}

std::string AuxDirectory::HostPath(std::string_view path) const {
  const std::string normal = NormalizePath(path);
  return normal.empty() ? host_path_ : fmt::format("{}/{}", host_path_, normal);
}

IOStatus AuxDirectory::Check() const {
  std::string name;
  const auto parent = HostDirectory::OpenParentOf(host_path_, name);
  const auto found = parent ? parent->Stat(name) : Result<HostStat>(std::unexpected(parent.error()));
  std::string reason;
  if (!found) {
    reason = found.error().ToString();
  } else if (found->kind == HostStat::Kind::kMissing) {
    reason = std::generic_category().message(ENOENT);
  } else if (found->kind != HostStat::Kind::kDirectory) {
    reason = found->kind == HostStat::Kind::kSymlink ? "it is a symbolic link" : "Not a directory";
  } else if (!IsOwnDirectory(*found)) {
    return IOStatus::IOError(Unusable(host_path_), OthersMayWrite(host_path_));
  } else if (::access(host_path_.c_str(), R_OK | X_OK) != 0) {
    reason = std::generic_category().message(errno);
  }
  if (reason.empty()) return IOStatus::OK();
  return IOStatus::IOError(Unusable(host_path_),
                           reason + "; restore it or create an empty one: it holds no data");
}

IOStatus AuxDirectory::CheckPath(const std::string& host_path) const {
  IOStatus usable = Check();
  if (!usable.ok() || host_path.size() <= host_path_.size()) return usable;
  const auto directory = HostDirectory::Open(host_path_);
  if (!directory) return IOStatus::IOError(Unusable(host_path_), directory.error().ToString());
  const std::string below = host_path.substr(host_path_.size() + 1);
  for (std::size_t end = 0; end != std::string::npos;) {
    end = below.find('/', end == 0 ? 0 : end + 1);
    const std::string path = directory->PathOf(below.substr(0, end));
    const auto stat = directory->Stat(below.substr(0, end));
    if (!stat) return IOStatus::IOError(Unusable(host_path_), stat.error().ToString());
    if (stat->kind == HostStat::Kind::kMissing) return IOStatus::OK();
    const bool file = stat->kind == HostStat::Kind::kFile && end == std::string::npos;
    if (file || IsOwnDirectory(*stat)) continue;
    if (stat->kind == HostStat::Kind::kDirectory)
      return IOStatus::IOError(Unusable(host_path_), OthersMayWrite(path));
    return IOStatus::IOError(Unusable(host_path_), fmt::format("{} is {}; remove it", path,
                                                               stat->kind == HostStat::Kind::kSymlink
                                                                   ? "a symbolic link"
                                                                   : "no regular file or directory"));
  }
  return IOStatus::OK();
}

IOStatus AuxDirectory::OrLost(IOStatus status) const {
  if (status.ok()) return status;
  IOStatus lost = Check();
  return lost.ok() ? status : lost;
}

IOStatus AuxDirectory::MakeParent(std::string_view path) const {
  std::vector<std::string_view> parts = SplitPath(path);
  std::string host_path = host_path_;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    host_path.append("/").append(parts[i]);
    IOStatus made = On(host_path, [&] { return host_->CreateDirIfMissing(host_path, kHostIo, nullptr); });
    if (!made.ok()) return made;
  }
  return IOStatus::OK();
}

IOStatus AuxDirectory::List(const std::string& directory, std::vector<std::string>* names) const {
  names->clear();
  std::vector<std::string> found;
  const std::string host_path = HostPath(directory);
  IOStatus listed = On(host_path, [&] { return host_->GetChildren(host_path, kHostIo, &found, nullptr); });
  if (IsMissing(listed)) return Check();
  if (!listed.ok()) return listed;
  for (std::string& name : found) {
    if (Keeps(name)) names->push_back(std::move(name));
  }
  return IOStatus::OK();
}

IOStatus AuxDirectory::RenameDirectory(const std::string& from, const std::string& to) const {
  const std::string host_from = HostPath(from);
  const std::string host_to = HostPath(to);
  std::vector<std::string> stale;
  IOStatus status = List(to, &stale);
  for (const std::string& name : stale) {
    if (status.ok()) status = host_->DeleteFile(host_to + "/" + name, kHostIo, nullptr);
  }
  if (status.ok()) status = RemoveDirectory(to);
  if (!status.ok()) return status;
  status = On(host_from, [&] { return host_->FileExists(host_from, kHostIo, nullptr); });
  if (IsMissing(status)) return Check();
  if (status.ok()) status = MakeParent(to);
  if (!status.ok()) return status;
  return On(host_to, [&] { return host_->RenameFile(host_from, host_to, kHostIo, nullptr); });
}

IOStatus AuxDirectory::RemoveDirectory(const std::string& directory) const {
  const std::string host_path = HostPath(directory);
  if (host_path == host_path_) return IOStatus::OK();
  IOStatus safe = CheckPath(host_path);
  if (!safe.ok()) return safe;
  if (::rmdir(host_path.c_str()) == 0) return IOStatus::OK();
  if (errno == ENOTEMPTY || errno == EEXIST) return IOStatus::OK();
  if (errno == ENOENT) return Check();
  return OrLost(IOStatus::IOError(fmt::format("While deleting directory {}", host_path),
                                  std::generic_category().message(errno)));
}

}  // namespace zenfs
