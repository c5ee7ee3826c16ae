#include "backup/one_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "backup/path_tree.h"
#include "backup/restore_record.h"
#include "backup/source_file.h"
#include "backup/volume_tree.h"
#include "base/clock.h"
#include "base/free_bytes.h"
#include "base/host_directory.h"
#include "base/saturating.h"
#include "base/short_bytes.h"
#include "base/sync_point.h"
#include "catalog/path.h"
#include "volume/aux_directory/aux_directory.h"

namespace zenfs {
namespace {

using Outcome = FileRead::Outcome;

bool IsGone(const Error& error) { return error.code() == Code::kNotFound; }

// Decides about a file that could not be read. Only a file without a name was deleted; bytes in an offline zone give the same
// read error.
Result<Outcome> WhatBecameOf(const Volume& volume, const std::string& path, FileId id,
                             const VerifiedSource& source) {
  const auto stat = volume.Stat(path);
  if (!stat) return IsGone(stat.error()) ? Result<Outcome>(Outcome::kDeleted) : Fail(stat.error());
  if (stat->id != id) return stat->is_directory ? Outcome::kDeleted : Outcome::kReplaced;
  const auto now = volume.Layout(path);
  if (!now) return IsGone(now.error()) ? Result<Outcome>(Outcome::kDeleted) : Fail(now.error());
  return source.ExtentsDiffer(*now) ? Outcome::kReplaced : Outcome::kUnreadable;
}

}  // namespace

// --- out of a volume ---

Result<FileRead> ReadVolumeFile(Volume& volume, Transfer& transfer, const std::string& path,
                                const Transfer::Writer& write) {
  FileRead read;
  const auto ends = [&read](Outcome outcome) {
    read.outcome = outcome;
    return read;
  };
  const auto gone = [](const Error& error) {
    return IsGone(error) ? Result<FileRead>(FileRead()) : Fail(error);
  };
  // Both are taken before the file is looked at, so that the next run of a backup copies a file that changes from here on.
  read.begun_seconds = WallSeconds();
  auto layout = volume.Layout(path);
  if (!layout) return gone(layout.error());
  read.layout = *std::move(layout);
  SyncPoint::Reach("ReadVolumeFile:laid-out");
  const auto from = volume.OpenForRead(path);
  if (!from) return gone(from.error());
  const auto stat = volume.Stat(path);
  if (!stat) return gone(stat.error());
  read.stat = *stat;
  const FileHandle& source = **from;
  if (stat->id != source.id()) return ends(Outcome::kReplaced);

  read.size = source.size();
  if (read.size < EndOfExtents(read.layout)) return ends(Outcome::kReplaced);  // truncated meanwhile
  VerifiedSource verified(source, read.layout, volume.info().geometry, path);
  const auto crc =
      transfer.Pump([&](std::uint64_t offset, ByteSpan into) { return verified.Read(offset, into); },
                    read.size, path, write);
  ZENFS_RETURN_IF_ERROR(transfer.CheckGoingOn());
  if (!crc && verified.failure()) {
    read.failure = verified.failure();
    ZENFS_ASSIGN_OR_RETURN(read.outcome, WhatBecameOf(volume, path, source.id(), verified));
    return read;
  }
  if (!crc) return Fail(crc.error());
  if (const auto now = volume.Layout(path); now && verified.Misses(*now, read.size))
    return ends(Outcome::kReplaced);
  read.crc32c = *crc;
  return ends(Outcome::kRead);
}

Result<FileRead> StreamVolumeFile(Volume& volume, Transfer& transfer, const std::string& path,
                                  const Transfer::Writer& write) {
  ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume.Stat(path));
  if (stat.is_directory) return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
  transfer.Expect(stat.size, stat.size);
  bool passed = false;
  for (int attempt = 0; attempt < kReplacedAtMost && !passed; ++attempt) {
    const auto read = ReadVolumeFile(volume, transfer, path, [&](ByteView chunk) {
      passed = true;
      return write(chunk);
    });
    if (!read || read->outcome == Outcome::kRead) return read;
    if (read->outcome == Outcome::kUnreadable) return Fail(*read->failure);
    if (read->outcome == Outcome::kDeleted)
      return Fail(Code::kNotFound, fmt::format("{}: was deleted meanwhile", path));
  }
  return Fail(Code::kBusy,
              fmt::format("{}: a program replaced or changed it while it was read; try again", path));
}

Status CheckNothingLost(const Volume& volume, FileId file, const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const Shortfall shortfall, volume.shortfall());
  if (!shortfall.lost_files.contains(file)) return {};
  return Fail(
      Code::kCorruption,
      fmt::format(
          "{}: the rest was copied, but the device has lost, or may have lost, bytes that were synced",
          path));
}

Status GetFile(Volume& volume, Transfer& transfer, const GetOptions& options) {
  const auto place = options.force ? NewOutput::Place::kReplace : NewOutput::Place::kNew;
  for (int attempt = 0; attempt < kReplacedAtMost; ++attempt) {
    ZENFS_ASSIGN_OR_RETURN(NewOutput output,
                           NewOutput::Begin(options.local, place, options.mode.value_or(0600)));
    if (!options.mode) ZENFS_RETURN_IF_ERROR(output.KeepModeAndOwner());
    const auto read = StreamVolumeFile(volume, transfer, options.path,
                                       [&](ByteView chunk) { return output.Append(chunk); });
    if (!read && read.error().code() == Code::kBusy) continue;
    if (!read) return Fail(read.error());
    ZENFS_RETURN_IF_ERROR(output.Publish());
    return CheckNothingLost(volume, read->stat.id, options.path);
  }
  return Fail(Code::kBusy, fmt::format("{} is replaced too often; copy one of a checkpoint of the database",
                                       options.path));
}

// --- into a volume ---

Result<FileWritten> WriteVolumeFile(Volume& volume, Transfer& transfer, const HostFile& from,
                                    std::uint64_t size, const std::string& path, const std::string& name,
                                    Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const auto to, volume.Create(path, lifetime));
  const auto append = [&](ByteView chunk) -> Status {
    if (const Status appended = to->Append(chunk); !appended.ok()) return Fail(appended.error().With(name));
    return {};
  };
  FileWritten written{.id = to->id()};
  ZENFS_ASSIGN_OR_RETURN(written.crc32c, transfer.Pump([&](std::uint64_t offset,
                                                           ByteSpan into) { return from.Read(offset, into); },
                                                       size, from.path(), append));
  ZENFS_RETURN_IF_ERROR(to->Sync());
  ZENFS_RETURN_IF_ERROR(to->Close());
  return written;
}

Result<std::uint32_t> ChecksumOfFile(Transfer& transfer, const FileHandle& file, const std::string& name) {
  return transfer.Pump([&](std::uint64_t offset, ByteSpan into) { return file.Read(offset, into); },
                       file.size(), name, {});
}

Status ReadBack(Volume& volume, Transfer& transfer, const FileWritten& written, std::uint64_t size,
                const std::string& path, const std::string& name) {
  ZENFS_ASSIGN_OR_RETURN(const auto file, volume.OpenForRead(path));
  ZENFS_ASSIGN_OR_RETURN(const std::uint32_t crc, ChecksumOfFile(transfer, *file, name));
  if (crc == written.crc32c && file->size() == size) return {};
  return Fail(
      Code::kCorruption,
      fmt::format("{}: what was read back from {} is not what was written (CRC32C {:08x}, not {:08x})", name,
                  volume.info().device_name, crc, written.crc32c));
}

Status Demands::Add(const Volume& volume, const std::string& path, std::uint64_t size,
                    const std::optional<FileStat>& stat) {
  const AuxDirectory* const aux = volume.aux_directory();
  std::uint64_t replaced = stat ? stat->size : 0;
  Demand* demand = &of_device;
  if (aux != nullptr && AuxDirectory::Keeps(path)) {
    ZENFS_ASSIGN_OR_RETURN(const HostStat there, aux->Find(path));
    replaced = there.size;
    demand = &of_host;
  }
  demand->needed = SaturatingSum(demand->needed, size);
  demand->replaced = SaturatingSum(demand->replaced, replaced);
  return {};
}

namespace {

Status CheckDevice(const Volume& volume, const Demand& demand) {
  // An optimistic check: garbage may be freed meanwhile, and log zones have room for files that are
  // logs.
  const SpaceReport space = volume.Space();
  const std::uint64_t room = SaturatingSum(space.free + space.garbage + space.log, demand.replaced);
  if (demand.needed <= room) return {};
  return Fail(Code::kNoSpace,
              fmt::format("{} has room for {}, and {} are to be written; nothing was changed",
                          volume.info().device_name, ShortBytes(room), ShortBytes(demand.needed)));
}

Status CheckAuxDirectory(const AuxDirectory& aux, const Demand& demand) {
  if (demand.needed == 0) return {};
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory directory, aux.Enter());
  const auto free = FreeBytes(directory.descriptor());
  if (!free) return {};  // a lack of space will show when writing
  const std::uint64_t room = SaturatingSum(*free, demand.replaced);
  if (demand.needed <= room) return {};
  return Fail(
      Code::kNoSpace,
      fmt::format("the aux directory {} has room for {}, and {} are to be written there; nothing was changed",
                  aux.host_path(), ShortBytes(room), ShortBytes(demand.needed)));
}

}  // namespace

Status Demands::Check(const Volume& volume) const {
  ZENFS_RETURN_IF_ERROR(CheckDevice(volume, of_device));
  const AuxDirectory* const aux = volume.aux_directory();
  return aux == nullptr ? Status() : CheckAuxDirectory(*aux, of_host);
}

Result<HostFile> OpenLocal(const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error == std::errc::no_such_file_or_directory) return Fail(MissingError("", path));
  if (error) return FailErrno(error.value(), path);
  if (std::filesystem::is_directory(real, error)) {
    return Fail(Error(Code::kIsADirectory, fmt::format("{} is a directory", path))
                    .Advise("zenfs restore copies directories"));
  }
  std::string name;
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory directory, HostDirectory::OpenParentOf(real, name));
  return directory.OpenForRead(name);
}

namespace {

// Also errors: kIsADirectory, kExists.
Status CheckTarget(const Volume& volume, const PutOptions& options, std::uint64_t size) {
  const std::string& path = options.path;
  if (IsRestoresOwn(path.substr(0, path.find('/')))) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: restores use this name in the volume for themselves", path));
  }
  ZENFS_RETURN_IF_ERROR(CheckPathLimits(path));
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
  const auto above = volume.Stat(parent);
  if (!above && IsGone(above.error())) {
    return Fail(above.error().Advise("zenfs mkdir --parents makes directories"));
  }
  ZENFS_RETURN_IF_ERROR(above);
  if (!above->is_directory) return Fail(Code::kNotADirectory, fmt::format("{}: is not a directory", parent));
  std::optional<FileStat> there;
  if (const auto stat = volume.Stat(path)) {
    there = *stat;
  } else if (!IsGone(stat.error())) {
    return Fail(stat.error());
  }
  if (there && there->is_directory) return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
  if (there && !options.force) {
    return Fail(Error(Code::kExists, fmt::format("{}: already exists", path)).Advise("--force replaces it"));
  }
  Demands demands;
  ZENFS_RETURN_IF_ERROR(demands.Add(volume, path, size, there));
  return demands.Check(volume);
}

std::string StagingPathOf(const std::string& path) { return RestoreRecord::StagingPath("put", path); }

Status RemoveIfThere(Volume& volume, const std::string& path) {
  const Status removed = volume.Unlink(path);
  return removed.ok() || IsGone(removed.error()) ? Status() : removed;
}

}  // namespace

Status PutFile(Volume& volume, Transfer& transfer, const HostFile& from, const PutOptions& options) {
  const std::string& path = options.path;
  ZENFS_ASSIGN_OR_RETURN(const HostStat source, from.Stat());
  ZENFS_RETURN_IF_ERROR(CheckTarget(volume, options, source.size));
  ZENFS_RETURN_IF_ERROR(volume.MakeDirectory(kRestoreStaging, true));
  for (const char* const name : {"a", "a.log", "LOG"}) {  // of each kind, left by an interrupted put
    ZENFS_RETURN_IF_ERROR(RemoveIfThere(volume, StagingPathOf(name)));
  }
  const std::string staging = StagingPathOf(path);
  transfer.Expect(2 * source.size, source.size);
  const auto put = [&]() -> Status {
    ZENFS_ASSIGN_OR_RETURN(const FileWritten written, WriteVolumeFile(volume, transfer, from, source.size,
                                                                      staging, path, Lifetime::kNotSet));
    SyncPoint::Reach("PutFile:written");
    ZENFS_RETURN_IF_ERROR(ReadBack(volume, transfer, written, source.size, staging, path));
    return volume.Rename(staging, path);
  };
  const Status done = put();
  if (!done.ok()) IgnoreError(volume.Unlink(staging));  // if this fails, the next put removes it
  // It stays if an interrupted restore has files in it.
  IgnoreError(volume.RemoveDirectory(kRestoreStaging));
  return done;
}

}  // namespace zenfs
