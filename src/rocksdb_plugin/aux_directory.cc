#include "rocksdb_plugin/aux_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "volume/volume.h"

namespace zenfs {

namespace {

const IOOptions kHostIo;

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
  struct stat st{};
  int error = 0;
  if (::stat(host_path_.c_str(), &st) != 0 || ::access(host_path_.c_str(), R_OK | X_OK) != 0) {
    error = errno;
  } else if (!S_ISDIR(st.st_mode)) {
    error = ENOTDIR;
  }
  if (error == 0) return IOStatus::OK();
  return IOStatus::IOError(
      fmt::format("the aux directory {}, where LOG and LOCK of this file system are kept, can't be used",
                  host_path_),
      fmt::format("{}; bring it back or make an empty one: no data is in there",
                  std::generic_category().message(error)));
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
    IOStatus made = host_->CreateDirIfMissing(host_path, kHostIo, nullptr);
    if (!made.ok()) return OrLost(std::move(made));
  }
  return IOStatus::OK();
}

IOStatus AuxDirectory::List(const std::string& directory, std::vector<std::string>* names) const {
  names->clear();
  std::vector<std::string> found;
  IOStatus listed = host_->GetChildren(HostPath(directory), kHostIo, &found, nullptr);
  if (IsMissing(listed)) return Check();
  if (!listed.ok()) return OrLost(std::move(listed));
  for (std::string& name : found) {
    if (Keeps(name)) names->push_back(std::move(name));
  }
  return IOStatus::OK();
}

IOStatus AuxDirectory::RenameDirectory(const std::string& from, const std::string& to) const {
  std::vector<std::string> stale;
  IOStatus status = List(to, &stale);
  for (const std::string& name : stale) {
    if (status.ok()) status = host_->DeleteFile(HostPath(to) + "/" + name, kHostIo, nullptr);
  }
  if (status.ok()) status = RemoveDirectory(to);
  if (!status.ok()) return status;
  status = host_->FileExists(HostPath(from), kHostIo, nullptr);
  if (IsMissing(status)) return Check();
  if (status.ok()) status = MakeParent(to);
  if (status.ok()) status = host_->RenameFile(HostPath(from), HostPath(to), kHostIo, nullptr);
  return OrLost(std::move(status));
}

IOStatus AuxDirectory::RemoveDirectory(const std::string& directory) const {
  const std::string host_path = HostPath(directory);
  if (host_path == host_path_ || ::rmdir(host_path.c_str()) == 0) return IOStatus::OK();
  if (errno == ENOTEMPTY || errno == EEXIST) return IOStatus::OK();
  if (errno == ENOENT) return Check();
  return OrLost(IOStatus::IOError(fmt::format("While deleting directory {}", host_path),
                                  std::generic_category().message(errno)));
}

}  // namespace zenfs
