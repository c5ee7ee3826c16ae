#include "rocksdb_plugin/aux_file_system.h"

#include <fmt/format.h>

#include <algorithm>

#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

namespace {

const IOOptions kIo;

}  // namespace

AuxFileSystem::AuxFileSystem(std::unique_ptr<ZenFileSystem> volume, std::string aux_path)
    : rocksdb::FileSystemWrapper(std::shared_ptr<rocksdb::FileSystem>(std::move(volume))),
      volume_(static_cast<ZenFileSystem*>(target())->volume()),
      aux_(std::move(aux_path)),
      read_only_(volume_->info().read_only) {}

bool AuxFileSystem::VolumeHasDirectory(const std::string& path) const {
  bool is_directory = false;
  return target()->IsDirectory(path, kIo, &is_directory, nullptr).ok() && is_directory;
}

std::optional<std::string> AuxFileSystem::OnHost(const std::string& fname) const {
  const std::string path = NormalizePath(fname);
  if (!AuxDirectory::Keeps(path) || VolumeHasDirectory(path)) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && !VolumeHasDirectory(path.substr(0, slash))) return std::nullopt;
  return aux_.HostPath(path);
}

IOStatus AuxFileSystem::CheckMayWrite(const std::string& fname) const {
  if (!read_only_) return IOStatus::OK();
  return IOStatus::IOError(fmt::format("While changing {}: the volume is mounted read-only", fname));
}

IOStatus AuxFileSystem::PrepareNew(const std::string& fname) const {
  IOStatus may = CheckMayWrite(fname);
  return may.ok() ? aux_.MakeParent(fname) : may;
}

IOStatus AuxFileSystem::FileExists(const std::string& fname, const IOOptions& options, IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->FileExists(fname, options, dbg);
    return aux_.On(*host, [&] { return aux_.host().FileExists(*host, options, dbg); });
  });
}

IOStatus AuxFileSystem::GetChildren(const std::string& dir, const IOOptions& options,
                                    std::vector<std::string>* result, IODebugContext* dbg) {
  return Guarded([&] {
    IOStatus status = target()->GetChildren(dir, options, result, dbg);
    if (!status.ok()) return status;
    std::vector<std::string> names;
    status = aux_.List(dir, &names);
    if (!status.ok()) {
      result->clear();
      return status;
    }
    for (std::string& name : names) {
      if (std::ranges::find(*result, name) == result->end()) result->push_back(std::move(name));
    }
    return status;
  });
}

IOStatus AuxFileSystem::GetChildrenFileAttributes(const std::string& dir, const IOOptions& options,
                                                  std::vector<rocksdb::FileAttributes>* result,
                                                  IODebugContext* dbg) {
  return Guarded([&] {
    IOStatus status = target()->GetChildrenFileAttributes(dir, options, result, dbg);
    if (!status.ok()) return status;
    std::vector<std::string> names;
    status = aux_.List(dir, &names);
    for (std::string& name : names) {
      rocksdb::FileAttributes attributes{};
      const std::string host = aux_.HostPath(dir) + "/" + name;
      const IOStatus sized =
          aux_.On(host, [&] { return aux_.host().GetFileSize(host, options, &attributes.size_bytes, dbg); });
      if (!sized.ok()) continue;  // deleted meanwhile
      attributes.name = std::move(name);
      const auto same = [&](const rocksdb::FileAttributes& other) { return other.name == attributes.name; };
      if (std::ranges::none_of(*result, same)) result->push_back(std::move(attributes));
    }
    if (!status.ok()) result->clear();
    return status;
  });
}

IOStatus AuxFileSystem::DeleteFile(const std::string& fname, const IOOptions& options, IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->DeleteFile(fname, options, dbg);
    IOStatus may = CheckMayWrite(fname);
    return may.ok() ? aux_.On(*host, [&] { return aux_.host().DeleteFile(*host, options, dbg); }) : may;
  });
}

IOStatus AuxFileSystem::Truncate(const std::string& fname, size_t size, const IOOptions& options,
                                 IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->Truncate(fname, size, options, dbg);
    IOStatus may = CheckMayWrite(fname);
    return may.ok() ? aux_.On(*host, [&] { return aux_.host().Truncate(*host, size, options, dbg); }) : may;
  });
}

#if ZENFS_ROCKSDB_HAS_SYNC_FILE
IOStatus AuxFileSystem::SyncFile(const std::string& fname, const FileOptions& file_opts,
                                 const IOOptions& io_opts, bool use_fsync, IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->SyncFile(fname, file_opts, io_opts, use_fsync, dbg);
    IOStatus may = CheckMayWrite(fname);
    if (!may.ok()) return may;
    return aux_.On(*host, [&] { return aux_.host().SyncFile(*host, file_opts, io_opts, use_fsync, dbg); });
  });
}
#endif

IOStatus AuxFileSystem::DeleteDir(const std::string& dirname, const IOOptions& options, IODebugContext* dbg) {
  return Guarded([&] {
    if (!VolumeHasDirectory(dirname)) return target()->DeleteDir(dirname, options, dbg);
    std::vector<std::string> names;
    IOStatus status = aux_.List(dirname, &names);
    if (status.ok() && !names.empty()) {
      return IOStatus::IOError(fmt::format("While deleting directory {}: it is not empty, {}/{} is in it",
                                           dirname, aux_.HostPath(dirname), names.front()));
    }
    if (status.ok()) status = target()->DeleteDir(dirname, options, dbg);
    return status.ok() ? aux_.RemoveDirectory(dirname) : status;
  });
}

IOStatus AuxFileSystem::GetFileSize(const std::string& fname, const IOOptions& options, uint64_t* file_size,
                                    IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->GetFileSize(fname, options, file_size, dbg);
    return aux_.On(*host, [&] { return aux_.host().GetFileSize(*host, options, file_size, dbg); });
  });
}

IOStatus AuxFileSystem::GetFileModificationTime(const std::string& fname, const IOOptions& options,
                                                uint64_t* file_mtime, IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->GetFileModificationTime(fname, options, file_mtime, dbg);
    return aux_.On(*host,
                   [&] { return aux_.host().GetFileModificationTime(*host, options, file_mtime, dbg); });
  });
}

// Both must be in the volume or both on the host: otherwise the file would have to be copied.
IOStatus AuxFileSystem::CheckSameSide(const std::string& src, const std::string& target_name,
                                      std::string_view doing) const {
  if (OnHost(src).has_value() == OnHost(target_name).has_value()) return IOStatus::OK();
  return IOStatus::NotSupported(
      fmt::format("While {} {} to {}: only one of them is in the volume, the other is in the aux directory "
                  "{} of the host",
                  doing, src, target_name, aux_.host_path()));
}

IOStatus AuxFileSystem::RenameFile(const std::string& src, const std::string& target_name,
                                   const IOOptions& options, IODebugContext* dbg) {
  return Guarded([&] {
    if (VolumeHasDirectory(src)) return RenameDirectory(src, target_name, options, dbg);
    IOStatus status = CheckSameSide(src, target_name, "renaming");
    if (!status.ok()) return status;
    const auto host = OnHost(src);
    if (!host) return target()->RenameFile(src, target_name, options, dbg);
    status = PrepareNew(target_name);
    if (!status.ok()) return status;
    return aux_.On(*host, [&] { return aux_.host().RenameFile(*host, *OnHost(target_name), options, dbg); });
  });
}

IOStatus AuxFileSystem::RenameDirectory(const std::string& src, const std::string& target_name,
                                        const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = aux_.Check();  // before the volume is changed
  if (!status.ok()) return status;
  std::vector<std::string> names;
  if (VolumeHasDirectory(target_name)) status = aux_.List(target_name, &names);
  if (status.ok() && !names.empty()) {
    return IOStatus::IOError(fmt::format("While renaming {} to {}: that is not empty, {}/{} is in it", src,
                                         target_name, aux_.HostPath(target_name), names.front()));
  }
  if (status.ok()) status = target()->RenameFile(src, target_name, options, dbg);
  if (!status.ok() || NormalizePath(src) == NormalizePath(target_name)) return status;
  return aux_.RenameDirectory(src, target_name);
}

IOStatus AuxFileSystem::LinkFile(const std::string& src, const std::string& target_name,
                                 const IOOptions& options, IODebugContext* dbg) {
  return Guarded([&] {
    IOStatus status = CheckSameSide(src, target_name, "linking");
    if (!status.ok()) return status;
    const auto host = OnHost(src);
    if (!host) return target()->LinkFile(src, target_name, options, dbg);
    status = PrepareNew(target_name);
    if (!status.ok()) return status;
    return aux_.On(*host, [&] { return aux_.host().LinkFile(*host, *OnHost(target_name), options, dbg); });
  });
}

IOStatus AuxFileSystem::NumFileLinks(const std::string& fname, const IOOptions& options, uint64_t* count,
                                     IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->NumFileLinks(fname, options, count, dbg);
    return aux_.On(*host, [&] { return aux_.host().NumFileLinks(*host, options, count, dbg); });
  });
}

IOStatus AuxFileSystem::AreFilesSame(const std::string& first, const std::string& second,
                                     const IOOptions& options, bool* res, IODebugContext* dbg) {
  return Guarded([&] {
    const auto one = OnHost(first);
    const auto other = OnHost(second);
    if (!one && !other) return target()->AreFilesSame(first, second, options, res, dbg);
    if (one && other)
      return aux_.On(*one, [&] { return aux_.host().AreFilesSame(*one, *other, options, res, dbg); });
    *res = false;
    IOStatus status = FileExists(first, options, dbg);
    return status.ok() ? FileExists(second, options, dbg) : status;
  });
}

IOStatus AuxFileSystem::IsDirectory(const std::string& path, const IOOptions& options, bool* is_dir,
                                    IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(path);
    if (!host) return target()->IsDirectory(path, options, is_dir, dbg);
    return aux_.On(*host, [&] { return aux_.host().IsDirectory(*host, options, is_dir, dbg); });
  });
}

}  // namespace zenfs
