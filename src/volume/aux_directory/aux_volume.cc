#include "volume/aux_directory/aux_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <vector>

#include "base/mutex.h"
#include "volume/aux_directory/aux_directory.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kHostId = std::uint64_t{1} << 63;  // above all ids of a volume's files
constexpr std::size_t kCopyBytes = 256 << 10;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

FileId HostFileId(const HostStat& stat) { return FileId{kHostId | stat.inode}; }

FileStat StatOf(const HostStat& host) {
  return {
      .id = HostFileId(host),
      .is_directory = false,
      .shape = FileShape::kFramed,
      .size = host.size,
      .mtime_seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(host.mtime_ns / kNsPerSecond, 0)),
      .links = static_cast<std::uint32_t>(host.links),
      .lifetime = Lifetime::kNotSet};
}

bool IsMissing(const Error& error) {
  return error.code() == Code::kNotFound || error.code() == Code::kNotADirectory;
}

// A file of the aux directory. Appended bytes are in the host's page cache at once, so they survive the process.
class AuxFile final : public FileHandle {
 public:
  AuxFile(HostFile file, const HostStat& stat, bool writable)
      : file_(std::move(file)), id_(HostFileId(stat)), writable_(writable) {}

  using FileHandle::Read;
  using FileHandle::ReadMany;
  Result<std::size_t> Read(std::uint64_t offset, ByteSpan into, ReadSource) const override {
    return file_.Read(offset, into);
  }
  Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const override {
    return Read(offset, into);  // the host's file has no checksums
  }
  void Advise(std::uint64_t, std::uint64_t, CacheAdvice) const override {}
  void ReadMany(std::span<ReadRequest> requests, ReadSource) const override {
    for (ReadRequest& request : requests) {
      const auto n = file_.Read(request.offset, request.into);
      request.status = n ? Status() : Status(Fail(n.error()));
      request.into = request.into.first(n ? *n : 0);
    }
  }
  Status Append(ByteView bytes, KnownCrc crc) override {
    ZENFS_RETURN_IF_ERROR(CheckWritable());
    if (crc && *crc != Crc32c(bytes)) {
      return Fail(Code::kCorruption, fmt::format("{}: the bytes do not match their checksum", file_.path()));
    }
    MutexLock lock(mutex_);
    return file_.Append(bytes);
  }
  Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) override {
    if (offset != size()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: {} is not the end of the file", file_.path(), offset));
    }
    return Append(bytes, crc);
  }
  Status Truncate(std::uint64_t size) override {
    ZENFS_RETURN_IF_ERROR(CheckWritable());
    MutexLock lock(mutex_);
    return file_.Truncate(size);
  }
  Status Flush() override { return CheckWritable(); }
  Status Sync() override {
    ZENFS_RETURN_IF_ERROR(CheckWritable());
    MutexLock lock(mutex_);
    return file_.Sync();
  }
  Status Close() override { return {}; }
  void SetLifetime(Lifetime) override {}

  std::uint64_t size() const override {
    const auto stat = file_.Stat();
    return stat ? stat->size : 0;
  }
  FileId id() const override { return id_; }
  FileShape shape() const override { return FileShape::kFramed; }

 private:
  Status CheckWritable() const {
    if (writable_) return {};
    return Fail(Code::kReadOnly, fmt::format("{}: opened for reading", file_.path()));
  }

  Mutex mutex_;  // leaf: makes a write of several parts one append. Reads and the size need no lock
  HostFile file_;
  const FileId id_;
  const bool writable_;
};

Result<std::unique_ptr<FileHandle>> HandleOf(Result<HostFile> file, bool writable) {
  if (!file) return Fail(file.error());
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, file->Stat());
  return std::make_unique<AuxFile>(*std::move(file), stat, writable);
}

class AuxLock final : public PathLock {
 public:
  explicit AuxLock(HostFile file) : file_(std::move(file)) {}

 private:
  const HostFile file_;
};

}  // namespace

// --- where a name is ---

Result<bool> AuxVolume::IsDirectory(std::string_view path) const {
  const auto stat = volume_->Stat(path);
  if (stat) return stat->is_directory;
  return IsMissing(stat.error()) ? Result<bool>(false) : Fail(stat.error());
}

Result<AuxVolume::Place> AuxVolume::Locate(std::string_view path) const {
  Place place{.path = NormalizePath(path), .kept = false, .host = {}, .is_directory = false};
  if (!AuxDirectory::Keeps(place.path) || place.path.size() > kMaxPathBytes) return place;
  ZENFS_ASSIGN_OR_RETURN(place.is_directory, IsDirectory(place.path));
  if (place.is_directory) return place;
  const std::size_t slash = place.path.rfind('/');
  if (slash != std::string::npos) {
    ZENFS_ASSIGN_OR_RETURN(const bool has_parent, IsDirectory(place.path.substr(0, slash)));
    if (!has_parent) return place;  // the volume answers
  }
  place.kept = true;
  ZENFS_ASSIGN_OR_RETURN(place.host, directory_.Find(place.path));
  return place;
}

Status AuxVolume::CheckMayWrite(std::string_view path) const {
  if (!info().read_only) return {};
  return Fail(Code::kReadOnly, fmt::format("{}: {} is mounted read-only", path, info().device_name));
}

Status AuxVolume::RemoveHidden(const std::string& path) {
  const Status removed = volume_->Unlink(path);
  return removed.ok() || removed.error().code() != Code::kNotFound ? removed : Status();
}

Result<FileStat> AuxVolume::Stat(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(path));
  return place.on_host() ? Result<FileStat>(StatOf(place.host)) : volume_->Stat(path);
}

Result<std::vector<DirectoryEntry>> AuxVolume::List(std::string_view path, FileId known) const {
  ZENFS_ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, volume_->List(path, known));
  const std::string normal = NormalizePath(path);
  if (normal.size() > kMaxPathBytes) return entries;  // the host has no such directory
  ZENFS_ASSIGN_OR_RETURN(const auto on_host, directory_.List(normal));
  for (const auto& [name, host] : on_host) {
    const auto at = std::ranges::lower_bound(entries, name, {}, &DirectoryEntry::name);
    if (at == entries.end() || at->name != name) {
      entries.insert(at, {.name = name, .stat = StatOf(host)});
    } else if (!at->stat.is_directory) {
      at->stat = StatOf(host);
    }
  }
  return entries;
}

Result<FileLayout> AuxVolume::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(path));
  if (!place.on_host()) return volume_->Layout(path);
  return FileLayout{
      .extents = {}, .frames = {}, .last_sequence = static_cast<std::uint64_t>(place.host.mtime_ns)};
}

// --- opening ---

Result<std::unique_ptr<FileHandle>> AuxVolume::Create(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(path));
  if (!place.kept) return volume_->Create(path, lifetime);
  ZENFS_RETURN_IF_ERROR(CheckMayWrite(path));
  ZENFS_ASSIGN_OR_RETURN(auto handle, HandleOf(directory_.Create(place.path), true));
  ZENFS_RETURN_IF_ERROR(RemoveHidden(place.path));
  return handle;
}

Result<std::unique_ptr<FileHandle>> AuxVolume::OpenForAppend(std::string_view path, bool create) {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(path));
  if (place.kept) ZENFS_RETURN_IF_ERROR(CheckMayWrite(path));
  if (place.on_host()) return HandleOf(directory_.OpenForAppend(place.path), true);
  auto opened = volume_->OpenForAppend(path, create && !place.kept);
  if (opened || !create || !place.kept || opened.error().code() != Code::kNotFound) return opened;
  return HandleOf(directory_.Create(place.path), true);
}

Result<std::unique_ptr<FileHandle>> AuxVolume::OpenForRead(std::string_view path, FileId known) {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(path));
  if (place.on_host()) return HandleOf(directory_.OpenForRead(place.path), false);
  return volume_->OpenForRead(path, known);
}

Result<std::unique_ptr<PathLock>> AuxVolume::Lock(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(path));
  if (!place.kept) return volume_->Lock(path);
  ZENFS_RETURN_IF_ERROR(CheckMayWrite(path));
  ZENFS_ASSIGN_OR_RETURN(HostFile file, directory_.Lock(place.path));
  return std::make_unique<AuxLock>(std::move(file));
}

// --- names ---

// The hidden file goes first, so that the name is there until it is gone for good.
Status AuxVolume::Unlink(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Place place, Locate(path));
  if (!place.on_host()) return volume_->Unlink(path);
  ZENFS_RETURN_IF_ERROR(CheckMayWrite(path));
  ZENFS_RETURN_IF_ERROR(RemoveHidden(place.path));
  return directory_.Remove(place.path);
}

Status AuxVolume::Link(std::string_view existing, std::string_view new_name) {
  ZENFS_ASSIGN_OR_RETURN(const Place from, Locate(existing));
  ZENFS_ASSIGN_OR_RETURN(const Place to, Locate(new_name));
  if (!from.on_host() && !to.on_host()) return volume_->Link(existing, new_name);
  ZENFS_RETURN_IF_ERROR(CheckMayWrite(new_name));
  const auto there = Stat(new_name);
  if (there) return Fail(Code::kExists, fmt::format("{}: already exists", new_name));
  if (there.error().code() != Code::kNotFound) return Fail(there.error());
  if (to.kept) return directory_.Link(from.path, to.path);
  return Fail(
      Code::kNotSupported,
      fmt::format(
          "{} is in the aux directory {} of the host, and {} would be in the volume; only names such as "
          "LOG.old.1 can be linked with it",
          existing, directory_.host_path(), new_name));
}

Status AuxVolume::Rename(std::string_view from, std::string_view to) {
  ZENFS_ASSIGN_OR_RETURN(const Place source, Locate(from));
  ZENFS_ASSIGN_OR_RETURN(const Place target, Locate(to));
  if (source.on_host()) {
    ZENFS_RETURN_IF_ERROR(CheckMayWrite(from));
    return RenameFromHost(source, target);
  }
  ZENFS_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(source.path));
  if (is_directory && target.on_host()) {
    return Fail(Code::kNotADirectory, fmt::format("{} is a directory, and {} is a file", from, to));
  }
  if (is_directory) return RenameDirectory(source.path, target.path);
  // A replaced file on the host would hide the renamed one, so it goes first.
  if (target.on_host()) {
    ZENFS_RETURN_IF_ERROR(volume_->Stat(from));
    ZENFS_RETURN_IF_ERROR(directory_.Remove(target.path));
  }
  return volume_->Rename(from, to);
}

Status AuxVolume::RenameFromHost(const Place& from, const Place& to) {
  if (from.path == to.path) return {};
  ZENFS_ASSIGN_OR_RETURN(const bool onto_directory, IsDirectory(to.path));
  if (onto_directory) {
    return Fail(Code::kIsADirectory, fmt::format("{} is a file, and {} is a directory", from.path, to.path));
  }
  if (!to.kept) {
    ZENFS_RETURN_IF_ERROR(CopyFromHost(from, to.path));
    return Unlink(from.path);
  }
  ZENFS_RETURN_IF_ERROR(RemoveHidden(from.path));
  ZENFS_RETURN_IF_ERROR(directory_.Rename(from.path, to.path));
  return RemoveHidden(to.path);
}

// The copy replaces an existing file when it is synced.
Status AuxVolume::CopyFromHost(const Place& from, const std::string& to) {
  ZENFS_ASSIGN_OR_RETURN(const HostFile source, directory_.OpenForRead(from.path));
  ZENFS_ASSIGN_OR_RETURN(const auto copy, volume_->Create(to));
  std::vector<std::byte> chunk(kCopyBytes);
  for (std::uint64_t offset = 0;;) {
    ZENFS_ASSIGN_OR_RETURN(const std::size_t n, source.Read(offset, chunk));
    if (n == 0) break;
    ZENFS_RETURN_IF_ERROR(copy->Append(ByteView(chunk).first(n)));
    offset += n;
  }
  ZENFS_RETURN_IF_ERROR(copy->Sync());
  return copy->Close();
}

Status AuxVolume::RenameDirectory(const std::string& from, const std::string& to) {
  ZENFS_RETURN_IF_ERROR(directory_.Check());  // before the volume is changed
  ZENFS_ASSIGN_OR_RETURN(const bool replaces, IsDirectory(to));
  if (replaces && from != to) {
    ZENFS_ASSIGN_OR_RETURN(const auto names, directory_.List(to));
    if (!names.empty()) {
      return Fail(Code::kNotEmpty, fmt::format("{} is not empty, {} is in it", to,
                                               directory_.HostPath(to + "/" + names.begin()->first)));
    }
  }
  ZENFS_RETURN_IF_ERROR(volume_->Rename(from, to));
  return from == to ? Status() : directory_.RenameDirectory(from, to);
}

Status AuxVolume::MakeDirectory(std::string_view path, bool parents) {
  const std::string normal = NormalizePath(path);
  if (normal.size() > kMaxPathBytes)
    return volume_->MakeDirectory(path, parents);  // the host has no such file
  for (std::size_t end = 0; end != std::string::npos;) {
    end = normal.find('/', end == 0 ? 0 : end + 1);
    ZENFS_ASSIGN_OR_RETURN(const Place part, Locate(normal.substr(0, end)));
    if (!part.on_host()) continue;
    const bool last = end == std::string::npos;
    return Fail(last && !parents ? Code::kExists : Code::kNotADirectory,
                fmt::format("{} is a file", part.path));
  }
  return volume_->MakeDirectory(path, parents);
}

Status AuxVolume::RemoveDirectory(std::string_view path) {
  const std::string normal = NormalizePath(path);
  ZENFS_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(normal));
  if (!is_directory) return volume_->RemoveDirectory(path);
  ZENFS_ASSIGN_OR_RETURN(const auto names, directory_.List(normal));
  if (!names.empty()) {
    return Fail(Code::kNotEmpty,
                fmt::format("{}: directory not empty, {} is in it", normal,
                            directory_.HostPath(normal.empty() ? names.begin()->first
                                                               : normal + "/" + names.begin()->first)));
  }
  ZENFS_RETURN_IF_ERROR(volume_->RemoveDirectory(path));
  return directory_.RemoveDirectory(normal);
}

// The host's files go first: if this ends early, the directory is still there to be removed again.
Status AuxVolume::RemoveTree(std::string_view path) {
  ZENFS_RETURN_IF_ERROR(CheckMayWrite(path));
  std::vector<std::pair<std::string, FileId>> directories{{NormalizePath(path), kNoFile}};
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const auto [directory, id] = directories[i];
    ZENFS_ASSIGN_OR_RETURN(const auto entries, volume_->List(directory, id));
    if (directory.empty()) break;  // the volume refuses to remove its root
    ZENFS_ASSIGN_OR_RETURN(const auto on_host, directory_.List(directory));
    for (const auto& [name, host] : on_host) {
      ZENFS_RETURN_IF_ERROR(directory_.Remove(fmt::format("{}/{}", directory, name)));
    }
    for (const DirectoryEntry& entry : entries) {
      if (!entry.stat.is_directory || directory.size() + 1 + entry.name.size() > kMaxPathBytes) continue;
      directories.emplace_back(fmt::format("{}/{}", directory, entry.name), entry.stat.id);
    }
  }
  ZENFS_RETURN_IF_ERROR(volume_->RemoveTree(path));
  for (const auto& [directory, id] : std::views::reverse(directories)) {
    ZENFS_RETURN_IF_ERROR(directory_.RemoveDirectory(directory));
  }
  return {};
}

namespace {

// The consent of this host to the directory that the superblock names, unless the mount's options gave it.
Status CheckConsent(const AuxDirectory& directory, const VolumeInfo& info) {
  // The image may name any directory, also one that can't be entered, so a superblock that no marker can fit is refused first.
  std::string why = "its superblock, of an older version, has no secret that a marker there could show";
  if (!info.superblock.aux_secret.IsNil()) {
    ZENFS_ASSIGN_OR_RETURN(const HostDirectory entered, directory.Enter());
    const Status permitted = CheckAuxMarker(entered, info.superblock);
    if (permitted.ok()) return {};
    why = permitted.error().ToString();
  }
  return Fail(Code::kPermission,
              fmt::format("{} keeps LOG and LOCK in the directory {} of this host, which does not consent: "
                          "{}; if you trust the device, add aux_path:{} to the options of the URI",
                          info.device_name, directory.host_path(), why, directory.host_path()));
}

}  // namespace

Result<std::shared_ptr<Volume>> WithAuxDirectory(std::shared_ptr<Volume> volume, const std::string& consent) {
  const VolumeInfo& info = volume->info();
  if (info.superblock.is_older() && consent.empty()) return volume;  // its directory has no marker of ours
  const std::string& path = info.superblock.aux_path;
  if (path.empty() && consent.empty()) return volume;
  if (!consent.empty() && NormalizePath(consent) != NormalizePath(path)) {
    return Fail(Code::kInvalidArgument,
                path.empty() ? fmt::format("option aux_path: {} has no aux directory", info.device_name)
                             : fmt::format("option aux_path: the aux directory of {} is {}, not {}",
                                           info.device_name, path, consent));
  }
  AuxDirectory directory(path);
  if (consent.empty()) ZENFS_RETURN_IF_ERROR(CheckConsent(directory, info));
  ZENFS_RETURN_IF_ERROR(directory.Check());
  return std::make_shared<AuxVolume>(std::move(volume), std::move(directory));
}

}  // namespace zenfs
