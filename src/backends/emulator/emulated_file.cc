#include "backends/emulator/emulated_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backends/emulator/store.h"
#include "backends/emulator/zone_machine.h"
#include "backends/host/lock_holder.h"
#include "base/crc32c.h"
#include "base/file_lock.h"
#include "base/file_size_limit.h"
#include "base/free_bytes.h"
#include "base/host_directory.h"
#include "base/output_file.h"
#include "base/short_bytes.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReservedPiece = 1 << 20;  // bytes at once

constexpr char kModel[] = "ZenFS emulated zoned device";
static_assert(sizeof kModel <= sizeof(EmulatedFileHeader::model));

using HeaderBytes = std::array<std::byte, kEmulatedHeaderBytes>;

std::uint32_t HeaderCrc(HeaderBytes bytes) {
  std::memset(bytes.data() + offsetof(EmulatedFileHeader, crc), 0, sizeof(EmulatedFileHeader::crc));
  return Crc32c(bytes);
}

std::uint32_t VersionOf(const EmulatorGeometry& g, bool volatile_cache) {
  if (g.random_area != 0) return kEmulatedRandomVersion;
  return volatile_cache ? kEmulatedCacheVersion : kEmulatedFileVersion;
}

HeaderBytes EncodeHeader(const EmulatedFileInfo& info, const Uuid& uuid) {
  const EmulatorGeometry& g = info.geometry;
  const EmulatedLayout layout = LayoutOf(g, info.volatile_cache);
  EmulatedFileHeader header{};
  std::memcpy(header.magic, kEmulatedFileMagic, sizeof header.magic);
  header.version = VersionOf(g, info.volatile_cache);
  header.block_size = g.block_size;
  header.zones = g.zones;
  header.zone_size = g.zone_size;
  header.zone_capacity = g.capacity();
  header.conventional = g.conventional;
  header.max_open = g.max_open;
  header.max_active = g.max_active;
  header.timing = static_cast<std::uint32_t>(info.timing);
  header.table_offset = layout.table_offset;
  header.durable_offset = layout.durable_offset;
  header.random_area = g.random_area;
  header.random_unit = g.random_unit;
  header.random_zones = g.random_zones;
  header.reserved = info.reserved ? 1 : 0;
  header.data_offset = layout.data_offset;
  std::memcpy(header.uuid, uuid.bytes.data(), sizeof header.uuid);
  std::memcpy(header.model, kModel, sizeof kModel);
  HeaderBytes bytes{};
  std::memcpy(bytes.data(), &header, sizeof header);
  header.crc = HeaderCrc(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

bool HasMagic(const HeaderBytes& bytes) {
  return std::memcmp(bytes.data(), kEmulatedFileMagic, sizeof kEmulatedFileMagic) == 0;
}

Status CheckHeader(const EmulatedFileHeader& header, const EmulatedFileInfo& info, const std::string& path) {
  const auto damaged = [&](std::string_view what) {
    return Fail(Code::kCorruption, fmt::format("{}: the header of this emulated device {}", path, what));
  };
  Status valid = Validate(info.geometry);
  if (valid.ok()) valid = CheckCachedArea(info.geometry, info.volatile_cache);
  if (!valid.ok()) return damaged("is damaged: " + valid.error().text());
  if (header.reserved > 1)
    return damaged(fmt::format("is damaged: reserved is {}, not 0 or 1", header.reserved));
  if (header.version != VersionOf(info.geometry, info.volatile_cache)) {
    return damaged(fmt::format("is damaged: a random write area of {} bytes in version {}",
                               header.random_area, header.version));
  }
  const EmulatedLayout layout = LayoutOf(info.geometry, info.volatile_cache);
  if (info.volatile_cache && header.durable_offset != layout.durable_offset) {
    return damaged(fmt::format("places the table of its cache at {}, not at {}", header.durable_offset,
                               layout.durable_offset));
  }
  if (header.table_offset != layout.table_offset || header.data_offset != layout.data_offset) {
    return damaged(fmt::format("places its data at {}, not at {}", header.data_offset, layout.data_offset));
  }
  return {};
}

Result<EmulatedFileInfo> DecodeHeader(const HeaderBytes& bytes, const std::string& path) {
  EmulatedFileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!HasMagic(bytes)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} is not an emulated device; make one with: zenfs emu create PATH", path));
  }
  if (header.crc != HeaderCrc(bytes)) {
    return Fail(Code::kCorruption,
                fmt::format("{}: the header of this emulated device is damaged (CRC {:08x}, computed {:08x})",
                            path, header.crc, HeaderCrc(bytes)));
  }
  if (header.version < kEmulatedFileVersion || header.version > kEmulatedRandomVersion) {
    return Fail(Code::kNotSupported,
                fmt::format("{}: emulated device of format version {}, made by a newer zenfs; "
                            "this one knows versions up to {}",
                            path, header.version, kEmulatedRandomVersion));
  }
  const std::optional<Timing> timing = TimingOfNumber(header.timing);
  if (!timing) {
    return Fail(Code::kNotSupported, fmt::format("{}: this emulated device uses timing profile {}, which "
                                                 "this zenfs does not know; use a newer zenfs",
                                                 path, header.timing));
  }
  EmulatedFileInfo info;
  info.timing = *timing;
  info.geometry = {.zones = header.zones,
                   .zone_size = header.zone_size,
                   .zone_capacity = header.zone_capacity,
                   .max_open = header.max_open,
                   .max_active = header.max_active,
                   .conventional = header.conventional,
                   .block_size = header.block_size,
                   .random_area = header.random_area,
                   .random_unit = header.random_unit,
                   .random_zones = header.random_zones};
  std::memcpy(info.uuid.bytes.data(), header.uuid, sizeof header.uuid);
  info.model.assign(header.model, ::strnlen(header.model, sizeof header.model));
  info.version = header.version;
  info.reserved = header.reserved != 0;
  info.volatile_cache = header.version == kEmulatedCacheVersion ||
                        (header.version == kEmulatedRandomVersion && header.durable_offset != 0);
  ZENFS_RETURN_IF_ERROR(CheckHeader(header, info, path));
  return info;
}

Status CheckRegular(const struct stat& st, const std::string& path) {
  if (S_ISREG(st.st_mode)) return {};
  if (S_ISDIR(st.st_mode)) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} is a directory; an emulated device is a file, made with: zenfs emu create PATH",
                    path));
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("{} is not a regular file; an emulated device is one, made with: "
                          "zenfs emu create PATH",
                          path));
}

// Its kind is looked at before it is opened, because to open a pipe or a device may have effects; and whoever may change the
// directory may put one at its name meanwhile. O_NONBLOCK: a lease on the file makes no open wait.
Result<UniqueFd> OpenFile(const std::string& path, OpenMode mode) {
  const UniqueFd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!named.valid()) {
    const int error = errno;
    if (error == ENOENT) {
      struct stat link{};
      if (::lstat(path.c_str(), &link) == 0) return Fail(MissingError("emulated device ", path));
      return Fail(ErrnoError(error, fmt::format("emulated device {}", path))
                      .Advise("make one with: zenfs emu create PATH"));
    }
    return FailErrno(error, fmt::format("emulated device {}", path));
  }
  struct stat st{};
  if (::fstat(named.get(), &st) != 0) return FailErrno(errno, fmt::format("emulated device {}", path));
  ZENFS_RETURN_IF_ERROR(CheckRegular(st, path));
  SyncPoint::Reach("OpenEmulatedFile:examined");
  const int access = mode == OpenMode::kExclusive ? O_RDWR : O_RDONLY;
  UniqueFd fd = UniqueFd::Reopened(named.get(), access | O_NONBLOCK);
  if (fd.valid()) return fd;
  const int error = errno;
  if (mode == OpenMode::kExclusive && (error == EACCES || error == EROFS || error == EPERM)) {
    return FailErrno(error,
                     fmt::format("emulated device {} can't be opened for writing, only read-only", path));
  }
  return FailErrno(error, fmt::format("open emulated device {}", path));
}

Result<HeaderBytes> ReadHeader(const UniqueFd& fd, const std::string& path) {
  HeaderBytes bytes{};
  if (::pread(fd.get(), bytes.data(), bytes.size(), 0) < 0) {
    return FailErrno(errno, fmt::format("read the header of emulated device {}", path));
  }
  return bytes;
}

// Opens and locks the file that the new device replaces. Invalid if there is none.
Result<UniqueFd> LockReplacedFile(const std::string& path, bool overwrite) {
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenExistingOutput(path));
  if (!fd.valid()) return fd;
  if (!overwrite) return Fail(Code::kExists, fmt::format("{} exists already; it was not changed", path));
  ZENFS_RETURN_IF_ERROR(LockEmulatedFile(fd, path));
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno(errno, fmt::format("examine {}", path));
  ZENFS_ASSIGN_OR_RETURN(const HeaderBytes old, ReadHeader(fd, path));
  if (st.st_size != 0 && !HasMagic(old)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} is not an emulated device; it was not changed", path));
  }
  return fd;
}

// Writes zeros to all blocks of the device, so that the host never has to allocate space for them. Errors: as
// CheckHostSpace, kShutdown if stopped, and those of the host.
Status ReserveHostSpace(const UniqueFd& fd, const EmulatorGeometry& geometry, const EmulatedLayout& layout,
                        const std::string& path, const EmulatedFileOptions& options) {
  const std::uint64_t of = geometry.capacity_of_all();
  ZENFS_RETURN_IF_ERROR(CheckHostSpace(fd, of, "the reserved device", path));
  const std::vector<std::byte> zeros(kReservedPiece);
  std::uint64_t done = 0;
  for (std::uint32_t zone = 0; zone < geometry.zones; ++zone) {
    const std::uint64_t bytes = geometry.capacity_of(ZoneId(zone));
    for (std::uint64_t at = 0; at < bytes; at += kReservedPiece) {
      if (options.stop != nullptr && *options.stop) return Fail(Code::kShutdown, "interrupted");
      const ByteView piece = ByteView(zeros).first(std::min(kReservedPiece, bytes - at));
      ZENFS_RETURN_IF_ERROR(WriteAll(fd, layout.data_offset + zone * geometry.zone_size + at, piece, path));
      done += piece.size();
      if (options.progress) options.progress(done, of);
    }
  }
  return {};
}

// Sets the full length last. If the process dies before that, the file counts as cut off.
Status Fill(const UniqueFd& fd, const std::string& path, const EmulatedFileInfo& info,
            const EmulatedFileOptions& options) {
  const NoFileSizeSignal no_signal;
  const EmulatorGeometry& geometry = info.geometry;
  const EmulatedLayout layout = LayoutOf(geometry, info.volatile_cache);
  const HeaderBytes header = EncodeHeader(info, Uuid::Generate());
  ZENFS_RETURN_IF_ERROR(WriteAll(fd, 0, header, path));
  std::vector<std::uint64_t> table(layout.table_bytes / sizeof(std::uint64_t));
  const ZoneMachine fresh(geometry);
  for (std::uint32_t i = 0; i < geometry.zones; ++i) table[i] = PackZone(fresh.state(ZoneId(i)));
  ZENFS_RETURN_IF_ERROR(WriteAll(fd, layout.table_offset, std::as_bytes(std::span(table)), path));
  if (info.volatile_cache) {  // nothing is written, so nothing is durable
    const std::uint64_t tables = layout.area_offset != 0 ? 2 : 1;  // the second follows the first
    const std::vector<std::byte> zeros(tables * layout.table_bytes);
    ZENFS_RETURN_IF_ERROR(WriteAll(fd, layout.durable_offset, zeros, path));
  }
  if (info.reserved) ZENFS_RETURN_IF_ERROR(ReserveHostSpace(fd, geometry, layout, path, options));
  if (::fsync(fd.get()) != 0) return FailErrno(errno, fmt::format("write {}", path));
  if (::ftruncate(fd.get(), static_cast<off_t>(layout.file_bytes)) != 0) {
    return FailErrno(errno, fmt::format("make {} {} bytes long", path, layout.file_bytes));
  }
  if (::fsync(fd.get()) != 0) return FailErrno(errno, fmt::format("write {}", path));
  return {};
}

}  // namespace

Status CheckCachedArea(const EmulatorGeometry& g, bool volatile_cache) {
  const std::uint64_t most = kBlockSetSize * g.block_size;
  if (!volatile_cache || g.random_area <= most) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("random area {} is above {} ({} blocks), the most with a volatile cache",
                          ShortBytes(g.random_area), ShortBytes(most), kBlockSetSize));
}

EmulatedLayout LayoutOf(const EmulatorGeometry& g, bool volatile_cache) {
  EmulatedLayout layout;
  layout.table_offset = kEmulatedHeaderBytes;
  layout.table_bytes = RoundUp(g.zones * sizeof(std::uint64_t), 4096);
  std::uint64_t end = layout.table_offset + layout.table_bytes;
  if (volatile_cache) {
    layout.durable_offset = end;
    end += layout.table_bytes;
  }
  if (volatile_cache && g.random_area != 0) {
    layout.area_offset = end;
    end += layout.table_bytes;
  }
  layout.data_offset = RoundUp(end, kEmulatedDataAlignment);
  layout.file_bytes = layout.data_offset + g.zone_size * g.zones;
  return layout;
}

Status WriteAll(const UniqueFd& fd, std::uint64_t offset, ByteView bytes, const std::string& path) {
  const NoFileSizeSignal no_signal;
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FailErrno(n < 0 ? errno : EIO, fmt::format("write {} at {}", path, offset));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status CheckHostSpace(const UniqueFd& fd, std::uint64_t needed, const std::string& what,
                      const std::string& path) {
  const auto free = FreeBytes(fd.get());
  if (!free || needed <= *free) return {};  // if it is unknown, a lack of space will show when writing
  return Fail(Code::kNoSpace, fmt::format("{} needs {}, and {} are free where {} would be", what,
                                          ShortBytes(needed), ShortBytes(*free), path));
}

Status RenewDeviceUuid(const UniqueFd& fd, const EmulatedFileInfo& info, const std::string& path) {
  return WriteAll(fd, 0, EncodeHeader(info, Uuid::Generate()), path);
}

Status LockEmulatedFile(const UniqueFd& fd, const std::string& path) {
  const int error = LockFile(fd.get());
  if (error == 0) return {};
  if (error != EWOULDBLOCK) return FailErrno(error, fmt::format("lock {}", path));
  return Fail(Code::kBusy,
              fmt::format("emulated device {} is in use by {}", path, DescribeLockHolder(fd.get())));
}

Status SetFileMode(const UniqueFd& fd, mode_t mode, const std::string& path) {
  if (::fchmod(fd.get(), mode) == 0) return {};
  return FailErrno(errno, fmt::format("set the permissions of {} to {:o}", path, mode));
}

Status CreateEmulatedFile(const std::string& path, const EmulatorGeometry& geometry, bool overwrite,
                          Timing timing, bool volatile_cache, const EmulatedFileOptions& options) {
  ZENFS_RETURN_IF_ERROR(Validate(geometry));
  ZENFS_RETURN_IF_ERROR(CheckCachedArea(geometry, volatile_cache));
  ZENFS_ASSIGN_OR_RETURN(const UniqueFd replaced, LockReplacedFile(path, overwrite));
  const auto place = replaced.valid() ? NewOutput::Place::kReplace : NewOutput::Place::kNew;
  ZENFS_ASSIGN_OR_RETURN(NewOutput file, NewOutput::Begin(path, place, kEmulatedFileMode));
  ZENFS_RETURN_IF_ERROR(file.KeepModeAndOwner());
  if (options.mode) ZENFS_RETURN_IF_ERROR(SetFileMode(file.fd(), *options.mode, path));
  // The new device may need the space of the old one.
  if (options.reserve && replaced.valid() && ::ftruncate(replaced.get(), 0) != 0)
    return FailErrno(errno, fmt::format("empty {}", path));
  const EmulatedFileInfo info{
      .geometry = geometry, .timing = timing, .volatile_cache = volatile_cache, .reserved = options.reserve};
  ZENFS_RETURN_IF_ERROR(Fill(file.fd(), path, info, options));
  return file.Publish();
}

Result<OpenedEmulatedFile> OpenAndCheckEmulatedFile(const std::string& path, OpenMode mode) {
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, mode));
  return CheckEmulatedFile(std::move(fd), path, mode);
}

Result<OpenedEmulatedFile> CheckEmulatedFile(UniqueFd fd, const std::string& path, OpenMode mode) {
  OpenedEmulatedFile file;
  file.fd = std::move(fd);
  struct stat st{};
  if (::fstat(file.fd.get(), &st) != 0) return FailErrno(errno, fmt::format("examine {}", path));
  ZENFS_RETURN_IF_ERROR(CheckRegular(st, path));
  if (st.st_size == 0) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} is an empty file; make an emulated device with: zenfs emu create PATH", path));
  }
  ZENFS_ASSIGN_OR_RETURN(const HeaderBytes header, ReadHeader(file.fd, path));
  if (HasMagic(header) && static_cast<std::uint64_t>(st.st_size) < header.size()) {
    return Fail(
        Code::kCorruption,
        fmt::format("{}: this emulated device has {} bytes, fewer than its header: it was cut off or not "
                    "completely copied",
                    path, st.st_size));
  }
  ZENFS_ASSIGN_OR_RETURN(file.info, DecodeHeader(header, path));
  file.layout = LayoutOf(file.info.geometry, file.info.volatile_cache);
  file.info.file_bytes = static_cast<std::uint64_t>(st.st_size);
  file.info.allocated_bytes = static_cast<std::uint64_t>(st.st_blocks) * 512;
  // A header may claim it for a sparse file: writes to keep the space would then fill the host.
  file.info.reserved =
      file.info.reserved && file.info.allocated_bytes >= file.info.geometry.capacity_of_all();
  if (file.info.file_bytes > file.layout.file_bytes) {
    return Fail(
        Code::kCorruption,
        fmt::format("{0}: this emulated device is {1} bytes long and should be {2}; bytes were added behind "
                    "its end: truncate -s {2} {0} removes them",
                    path, file.info.file_bytes, file.layout.file_bytes));
  }
  if (file.info.file_bytes != file.layout.file_bytes) {
    return Fail(Code::kCorruption,
                fmt::format("{}: this emulated device is {} bytes long and should be {}; it was cut "
                            "off or not completely copied",
                            path, file.info.file_bytes, file.layout.file_bytes));
  }
  if (mode == OpenMode::kExclusive) ZENFS_RETURN_IF_ERROR(LockEmulatedFile(file.fd, path));
  return file;
}

Result<EmulatedFileInfo> ReadEmulatedFileInfo(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(OpenedEmulatedFile file, OpenAndCheckEmulatedFile(path, OpenMode::kReadOnly));
  return std::move(file.info);
}

}  // namespace zenfs
