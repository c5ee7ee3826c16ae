#include "engine_volume.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "default_files.h"
#include "rocksdb_plugin/file_system_of_uri.h"
#include "rocksdb_plugin/mount_uri.h"

namespace zenfs::myrocks {

namespace {

// After a failed listing of column families the engine reads errno: ENOENT means that the database is new. RocksDB's own
// file system leaves it there.
class ErrnoOfMissingFiles final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return target()->Name(); }
  const char* NickName() const override { return "zenfs"; }
  std::string GetId() const override { return target()->GetId(); }

  IOStatus NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* dbg) override {
    IOStatus status = target()->NewSequentialFile(fname, file_opts, result, dbg);
    if (status.IsPathNotFound()) errno = ENOENT;
    return status;
  }
};

}  // namespace

Result<std::unique_ptr<EngineVolume>> EngineVolume::Mount(const std::string& uri) {
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<rocksdb::FileSystem> files, FileSystemOfUri(uri));
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, MountUri(uri));  // the same: it is mounted once
  auto wrapped =
      std::make_shared<ErrnoOfMissingFiles>(std::shared_ptr<rocksdb::FileSystem>(std::move(files)));
  return std::unique_ptr<EngineVolume>(new EngineVolume(std::move(volume), std::move(wrapped)));
}

EngineVolume::EngineVolume(std::shared_ptr<Volume> volume, std::shared_ptr<rocksdb::FileSystem> file_system)
    : volume_(std::move(volume)), files_of_host_(ExchangeDefaultFiles(std::move(file_system))) {}

EngineVolume::~EngineVolume() {
  IgnoreError(Unmount());
}  // a caller that wants the error has called it before

Status EngineVolume::Unmount() {
  if (files_of_host_ == nullptr) return {};
  ExchangeDefaultFiles(std::exchange(files_of_host_, nullptr));
  return volume_->Unmount();
}

Status EngineVolume::RemoveCheckpoint(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(path));
  for (const DirectoryEntry& entry : entries) {
    // A checkpoint has no lock file; a database that has been opened has one.
    if (entry.name == "LOCK")
      return Fail(Code::kBusy, fmt::format("{} is a database, not a checkpoint", path));
    if (entry.stat.is_directory)
      return Fail(Code::kIsADirectory,
                  fmt::format("{} is no checkpoint: {} in it is a directory", path, entry.name));
  }
  for (const DirectoryEntry& entry : entries) ZENFS_RETURN_IF_ERROR(volume_->Unlink(path + "/" + entry.name));
  return volume_->RemoveDirectory(path);
}

}  // namespace zenfs::myrocks
