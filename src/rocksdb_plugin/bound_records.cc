#include "rocksdb_plugin/bound_records.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <span>

#include "base/clock.h"
#include "model/edit.h"
#include "rocksdb_plugin/default_device.h"

namespace zenfs {

namespace {

constexpr std::string_view kFirstLine = "zenfs-directory 2\n";
constexpr std::size_t kBytesMax = 3 * kMaxPathBytes + 512;

// Takes "<key> <value>\n" from the front of `text`.
std::optional<std::string_view> TakeLine(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key) || text.substr(key.size(), 1) != " ") return {};
  const std::string_view value = text.substr(key.size() + 1, end - key.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::uint64_t> NumberOf(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// It becomes a name in the volume.
bool IsNonce(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Names in a directory that may be missing.
Result<std::vector<DirectoryEntry>> ListIfThere(const Volume& volume, std::string_view path) {
  Result<std::vector<DirectoryEntry>> entries = volume.List(path);
  if (!entries && entries.error().code() == Code::kNotFound) return std::vector<DirectoryEntry>();
  return entries;
}

}  // namespace

// --- the marker ---

std::string DirectoryMarker::ToText() const {
  return fmt::format("{}volume {}\nid {}\nnonce {}\ninode {}\nregistry {}\nhost {}\npath {}\n", kFirstLine,
                     volume.ToString(), id.value, nonce, inode, registry, host, path);
}

Result<DirectoryMarker> DirectoryMarker::Read(const HostDirectory& directory, const std::string& name) {
  ZENFS_ASSIGN_OR_RETURN(const HostFile file, directory.OpenForRead(name));
  std::string bytes(kBytesMax, '\0');
  ZENFS_ASSIGN_OR_RETURN(const std::size_t size, file.Read(0, std::as_writable_bytes(std::span(bytes))));
  std::string_view text(bytes.data(), size);
  const auto damaged = [&] {
    return Fail(Error(Code::kCorruption, fmt::format("{}: not a marker of ZenFS", file.path()))
                    .Advise("an empty one binds the directory to the volume's of the same path"));
  };
  if (!text.starts_with(kFirstLine)) return damaged();
  text.remove_prefix(kFirstLine.size());
  const auto volume = TakeLine(text, "volume");
  const auto id = TakeLine(text, "id");
  const auto nonce = TakeLine(text, "nonce");
  const auto inode = TakeLine(text, "inode");
  const auto registry = TakeLine(text, "registry");
  const auto host = TakeLine(text, "host");
  const auto path = TakeLine(text, "path");
  if (!volume || !id || !nonce || !inode || !registry || !host || !path || !text.empty()) return damaged();
  const std::optional<Uuid> uuid = Uuid::Parse(*volume);
  const auto id_value = NumberOf(*id);
  const auto inode_value = NumberOf(*inode);
  if (!uuid || !id_value || !inode_value || !IsNonce(*nonce)) return damaged();
  return DirectoryMarker{.volume = *uuid,
                         .id = FileId(*id_value),
                         .nonce = std::string(*nonce),
                         .inode = *inode_value,
                         .registry = std::string(*registry),
                         .host = std::string(*host),
                         .path = std::string(*path)};
}

// --- the records in the volume ---

std::string BoundRecords::RecordOf(FileId id) const {
  return fmt::format("/{}/{}.{}", kBoundRecords, volume_->info().superblock.uuid.ToString(), id.value);
}

std::string BoundRecords::NthName(const std::string& path, int n) {
  return n == 1 ? path : fmt::format("{}~{}", path, n);
}

Result<std::optional<std::string>> BoundRecords::FindName(
    const std::string& path, const std::function<bool(const FileStat*)>& fits) const {
  for (int n = 1; n <= kNamesMax; ++n) {
    std::string name = NthName(path, n);
    const Result<FileStat> there = volume_->Stat(name);
    if (!there && there.error().code() != Code::kNotFound && there.error().code() != Code::kNotADirectory)
      return Fail(there.error());
    if (fits(there ? &*there : nullptr)) return name;
  }
  return std::nullopt;
}

Result<std::optional<std::string>> BoundRecords::FindById(const std::string& path, FileId id) const {
  return FindName(path, [id](const FileStat* there) {
    return there != nullptr && there->is_directory && there->id == id;
  });
}

Status BoundRecords::RemoveEmpty(std::string path) {
  for (; path != "/"; path = DirectoryOf(path)) {
    ZENFS_ASSIGN_OR_RETURN(const FileStat there, volume_->Stat(path));
    ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(path));
    if (!entries.empty()) return {};
    ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> nonces, Nonces(there.id));
    if (!nonces.empty()) return {};
    ZENFS_RETURN_IF_ERROR(volume_->RemoveDirectory(path));
  }
  return {};
}

Result<std::vector<std::string>> BoundRecords::Nonces(FileId id) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListIfThere(*volume_, RecordOf(id)));
  std::vector<std::string> nonces;
  for (const DirectoryEntry& entry : entries) nonces.push_back(entry.name);
  return nonces;
}

Status BoundRecords::Add(FileId id, const std::string& nonce) {
  return volume_->MakeDirectory(RecordOf(id) + "/" + nonce, /*parents=*/true);
}

Status BoundRecords::Remove(FileId id, const std::string& nonce) {
  return volume_->RemoveDirectory(RecordOf(id) + "/" + nonce);
}

Status BoundRecords::Forget(FileId id) {
  Status removed = volume_->RemoveTree(RecordOf(id));
  return !removed.ok() && removed.error().code() == Code::kNotFound ? Status() : removed;
}

Result<std::string> BoundRecords::SetAside(FileId id, const std::string& path) {
  ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(kSetAside, /*parents=*/true));
  const std::string aside = fmt::format("{}/{:%Y-%m-%dT%H%M%SZ}.{}", kSetAside,
                                        fmt::gmtime(static_cast<std::time_t>(WallSeconds())), id.value);
  ZENFS_RETURN_IF_ERROR(volume_->Rename(path, aside));
  return aside;
}

Result<std::vector<DirectoryEntry>> BoundRecords::AllSetAside() const {
  return ListIfThere(*volume_, kSetAside);  // names begin with the time
}

Result<std::optional<std::string>> BoundRecords::FindSetAside(FileId id) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, AllSetAside());
  const auto found = std::ranges::find_if(
      entries, [&](const DirectoryEntry& entry) { return entry.stat.is_directory && entry.stat.id == id; });
  if (found == entries.end()) return std::nullopt;
  return fmt::format("{}/{}", kSetAside, found->name);
}

Result<std::string> BoundRecords::DeleteSetAside(const DirectoryEntry& entry) {
  std::string path = fmt::format("{}/{}", kSetAside, entry.name);
  // The record first: a marker that turns up meanwhile must not get a part of the files.
  if (entry.stat.is_directory) ZENFS_RETURN_IF_ERROR(Forget(entry.stat.id));
  ZENFS_RETURN_IF_ERROR(entry.stat.is_directory ? volume_->RemoveTree(path) : volume_->Unlink(path));
  return path;
}

}  // namespace zenfs
