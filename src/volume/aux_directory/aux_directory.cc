#include "volume/aux_directory/aux_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <span>
#include <system_error>
#include <utility>

#include "base/shared_memory.h"

namespace zenfs {
namespace {

using Kind = HostStat::Kind;

constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr mode_t kLockMode = 0600;  // who may open it could hold its lock

std::string Below(std::string_view directory, std::string_view name) {
  return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

// The path of the directory that has the name, and the name.
std::pair<std::string, std::string> Split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

// False for a file that another user could make in `directory` and change later.
Result<bool> IsTrustedFile(const HostDirectory& directory, const HostStat& file) {
  ZENFS_ASSIGN_OR_RETURN(const HostStat parent, directory.StatSelf());
  return (parent.mode & S_IWOTH) == 0 || IsTrustedOwner(file.owner, {});
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

Result<HostDirectory> AuxDirectory::Enter() const {
  auto entered = HostDirectory::OpenTrusted(host_path_);
  if (entered) return entered;
  const bool gone =
      entered.error().code() == Code::kNotFound || entered.error().code() == Code::kNotADirectory;
  return Fail(Unusable(entered.error().ToString() +
                       (gone ? "; restore it or create an empty one: it holds no data" : "")));
}

Status AuxDirectory::Check() const {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory entered, Enter());
  if (::faccessat(entered.descriptor(), ".", R_OK | X_OK, AT_EACCESS) == 0) return {};
  return Fail(Unusable(std::generic_category().message(errno)));
}

Result<AuxDirectory::Entry> AuxDirectory::EntryIn(HostDirectory directory, std::string_view path) const {
  const std::string name = Split(path).second;
  const auto stat = directory.Stat(name);
  if (!stat) return Fail(Unusable(stat.error().ToString()));
  const std::string host_path = directory.PathOf(name);
  if (stat->kind == Kind::kSymlink || stat->kind == Kind::kSpecial) {
    return Fail(Unusable(
        fmt::format("{} is {}; remove it", host_path,
                    stat->kind == Kind::kSymlink ? "a symbolic link" : "no regular file or directory")));
  }
  if (stat->kind == Kind::kDirectory) {
    if (const auto own = directory.EnterTrusted(name); !own) return Fail(Unusable(own.error().ToString()));
  }
  if (stat->kind == Kind::kFile) {
    ZENFS_ASSIGN_OR_RETURN(const bool trusted, IsTrustedFile(directory, *stat));
    if (!trusted) return Fail(Unusable(host_path + " belongs to another user; remove it"));
  }
  return Entry{.directory = std::move(directory), .name = name, .found = *stat};
}

Result<std::optional<HostDirectory>> AuxDirectory::EnterBelow(const std::string& directory) const {
  ZENFS_ASSIGN_OR_RETURN(HostDirectory at, Enter());
  if (directory.empty()) return at;
  if (directory.size() >= PATH_MAX) return std::nullopt;  // the host can't have it
  auto entered = at.EnterTrusted(directory);
  if (entered) return *std::move(entered);
  if (entered.error().code() == Code::kNotFound) return std::nullopt;
  return Fail(Unusable(entered.error().ToString()));
}

Result<std::optional<AuxDirectory::Entry>> AuxDirectory::Look(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(std::optional<HostDirectory> at, EnterBelow(Split(path).first));
  if (!at || path.size() >= PATH_MAX) return std::nullopt;  // the host can't have a longer one
  return EntryIn(*std::move(at), path);
}

Result<AuxDirectory::Entry> AuxDirectory::Existing(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(std::optional<Entry> entry, Look(path));
  if (entry && entry->found.kind != Kind::kMissing) return *std::move(entry);
  return Fail(Code::kNotFound, fmt::format("{} does not exist", HostPath(path)));
}

Result<AuxDirectory::Entry> AuxDirectory::PrepareNew(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(HostDirectory at, Enter());
  if (path.size() >= PATH_MAX) return FailErrno(ENAMETOOLONG, HostPath(path.substr(0, 100)) + "...");
  if (const std::string parent = Split(path).first; !parent.empty()) {
    auto entered = at.EnterTrusted(parent, kDirectoryMode);
    if (!entered) return Fail(Unusable(entered.error().ToString()));
    at = *std::move(entered);
  }
  ZENFS_ASSIGN_OR_RETURN(Entry entry, EntryIn(std::move(at), path));
  if (entry.found.kind != Kind::kDirectory) return entry;
  return Fail(Unusable(fmt::format("{} is a directory; remove it", HostPath(path))));
}

Result<HostFile> AuxDirectory::OpenFile(const Entry& entry, HostDirectory::Access access) const {
  ZENFS_ASSIGN_OR_RETURN(HostFile file, entry.directory.OpenForRead(entry.name, access));
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, file.Stat());
  ZENFS_ASSIGN_OR_RETURN(const bool trusted, IsTrustedFile(entry.directory, stat));
  if (!trusted) return Fail(Unusable(file.path() + " belongs to another user; remove it"));
  return file;
}

Result<HostStat> AuxDirectory::Find(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const auto entry, Look(path));
  return entry && entry->found.kind == Kind::kFile ? entry->found : HostStat{};
}

Result<std::map<std::string, HostStat>> AuxDirectory::List(std::string_view directory) const {
  std::map<std::string, HostStat> files;
  ZENFS_ASSIGN_OR_RETURN(const std::optional<HostDirectory> at, EnterBelow(std::string(directory)));
  if (!at) return files;
  const auto names = at->List("");
  if (!names && names.error().code() == Code::kNotFound) return files;
  if (!names) return Fail(names.error());
  for (const std::string& name : *names) {
    if (!Keeps(name)) continue;
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, at->Stat(name));
    if (stat.kind == Kind::kFile) files.emplace(name, stat);
  }
  return files;
}

Result<HostFile> AuxDirectory::OpenForRead(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Entry entry, Existing(path));
  return OpenFile(entry, HostDirectory::Access::kRead);
}

Result<HostFile> AuxDirectory::OpenForAppend(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Entry entry, Existing(path));
  return OpenFile(entry, HostDirectory::Access::kReadAndAppend);
}

Result<HostFile> AuxDirectory::Create(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Entry entry, PrepareNew(path));
  ZENFS_RETURN_IF_ERROR(entry.directory.Create(entry.name, kFileMode));
  return OpenFile(entry, HostDirectory::Access::kReadAndAppend);
}

Result<HostFile> AuxDirectory::Lock(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Entry entry, PrepareNew(path));
  const auto made = entry.directory.CreateNew(entry.name, kLockMode);
  if (!made && made.error().code() != Code::kExists) return Fail(made.error());
  ZENFS_ASSIGN_OR_RETURN(HostFile file, OpenFile(entry, HostDirectory::Access::kReadAndAppend));
  ZENFS_RETURN_IF_ERROR(file.TakeLock());
  return file;
}

Status AuxDirectory::Remove(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const auto entry, Look(path));
  return entry ? entry->directory.RemoveFile(entry->name) : Status();
}

Status AuxDirectory::Rename(std::string_view from, std::string_view to) const {
  ZENFS_ASSIGN_OR_RETURN(const Entry source, Existing(from));
  ZENFS_ASSIGN_OR_RETURN(const Entry target, PrepareNew(to));
  return source.directory.RenameTo(source.name, target.directory, target.name);
}

Status AuxDirectory::Link(std::string_view existing, std::string_view new_name) const {
  ZENFS_ASSIGN_OR_RETURN(const Entry source, Existing(existing));
  ZENFS_ASSIGN_OR_RETURN(const Entry target, PrepareNew(new_name));
  return source.directory.LinkTo(source.name, target.directory, target.name);
}

Status AuxDirectory::RenameDirectory(std::string_view from, std::string_view to) const {
  ZENFS_ASSIGN_OR_RETURN(const auto stale, List(to));
  for (const auto& [name, stat] : stale) ZENFS_RETURN_IF_ERROR(Remove(Below(to, name)));
  ZENFS_RETURN_IF_ERROR(RemoveDirectory(to));
  ZENFS_ASSIGN_OR_RETURN(const auto source, Look(from));
  if (!source || source->found.kind == Kind::kMissing) return {};
  ZENFS_ASSIGN_OR_RETURN(const Entry target, PrepareNew(to));
  return source->directory.RenameTo(source->name, target.directory, target.name);
}

Status AuxDirectory::RemoveDirectory(std::string_view directory) const {
  if (directory.empty()) return {};
  ZENFS_ASSIGN_OR_RETURN(const auto entry, Look(directory));
  if (!entry || entry->found.kind == Kind::kMissing) return {};
  const Status removed = entry->directory.RemoveDirectory(entry->name);
  const bool others =
      !removed.ok() && (removed.error().code() == Code::kNotEmpty || removed.error().code() == Code::kExists);
  return others ? Status() : removed;
}

// --- the marker ---

namespace {

constexpr mode_t kMarkerMode = 0600;

std::string TemporaryMarker() { return std::string(kAuxMarker) + ".new"; }

std::string TextOf(const Uuid& volume, const Uuid& secret) {
  return fmt::format("{} {}\n", volume.ToString(), secret.ToString());
}

}  // namespace

Result<AuxMarker> AuxMarker::Prepare(HostDirectory directory, const Uuid& volume, const Uuid& secret) {
  ZENFS_ASSIGN_OR_RETURN(HostFile file, directory.Create(TemporaryMarker(), kMarkerMode));
  AuxMarker marker(std::move(directory));
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(TextOf(volume, secret))));
  ZENFS_RETURN_IF_ERROR(file.Sync());
  return marker;
}

AuxMarker::~AuxMarker() {
  if (pending_) IgnoreError(directory_.RemoveFile(TemporaryMarker()));  // a leftover is never read
}

Status AuxMarker::Keep() {
  ZENFS_RETURN_IF_ERROR(directory_.Rename(TemporaryMarker(), std::string(kAuxMarker)));
  pending_ = false;
  return directory_.Sync("");
}

Status CheckAuxMarker(const HostDirectory& directory, const Superblock& superblock) {
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kPermission, fmt::format("{} {}", directory.PathOf(kAuxMarker), why));
  };
  if (superblock.aux_secret.IsNil()) return refuse("can't name a file system of an older version");
  const auto file = directory.OpenForRead(std::string(kAuxMarker));
  if (!file) {
    return file.error().code() == Code::kNotFound ? refuse("does not exist")
                                                  : refuse("can't be read: " + file.error().ToString());
  }
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, file->Stat());
  if (!IsTrustedOwner(stat.owner, {})) return refuse("belongs to another user");
  if ((stat.mode & (S_IRWXG | S_IRWXO)) != 0)
    return refuse("can be read by other users (it needs mode 0600)");
  const std::string expected = TextOf(superblock.uuid, superblock.aux_secret);
  std::string text(expected.size() + 1, '\0');
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file->Read(0, std::as_writable_bytes(std::span(text))));
  text.resize(n);
  return text == expected ? Status() : refuse("is that of another file system");
}

}  // namespace zenfs
