#include "engine_volume.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "catalog/path.h"
#include "default_files.h"
#include "rocksdb_plugin/mount_uri.h"
#include "rocksdb_plugin/status_conversion.h"
#include "rocksdb_plugin/zenfs_file_system.h"

namespace zenfs::myrocks {

namespace {

// Marks a directory that rocksdb_create_checkpoint made. Its content is for people.
constexpr std::string_view kCheckpointMark = ".zenfs_checkpoint";
constexpr std::string_view kCheckpointMarkText = "made by rocksdb_create_checkpoint\n";

std::string Below(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

// The volume as the engine's Env needs it.
class EngineFiles final : public rocksdb::FileSystemWrapper {
 public:
  EngineFiles(std::unique_ptr<ZenFileSystem> files, std::shared_ptr<Volume> volume)
      : FileSystemWrapper(std::move(files)), volume_(std::move(volume)) {}

  const char* Name() const override { return target()->Name(); }
  const char* NickName() const override { return "zenfs"; }
  std::string GetId() const override { return target()->GetId(); }

  // After a failed listing of column families the engine reads errno: ENOENT means that the database is new. RocksDB's own
  // file system leaves it there.
  IOStatus NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* dbg) override {
    IOStatus status = target()->NewSequentialFile(fname, file_opts, result, dbg);
    if (status.IsPathNotFound()) errno = ENOENT;
    return status;
  }

  // RocksDB makes a checkpoint NAME as NAME.tmp, and its last step is this. Nothing else in the engine renames a directory.
  // So the mark appears with the name.
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* dbg) override {
    const IOStatus marked = Guarded([&] { return from == to + ".tmp" ? Mark(from) : IOStatus::OK(); });
    if (!marked.ok()) return marked;
    return target()->RenameFile(from, to, options, dbg);
  }

 private:
  IOStatus Mark(const std::string& directory) {
    const auto stat = volume_->Stat(directory);
    if (!stat || !stat->is_directory)
      return IOStatus::OK();  // another file, or the renaming says what is wrong
    const Status written = WriteMark(Below(directory, kCheckpointMark));
    return written.ok() ? IOStatus::OK() : ToIOStatus(written.error(), "marking a checkpoint", directory);
  }
  Status WriteMark(const std::string& path) {
    ZENFS_ASSIGN_OR_RETURN(const auto mark, volume_->Create(path, Lifetime::kNotSet));
    ZENFS_RETURN_IF_ERROR(mark->Append(AsBytes(kCheckpointMarkText), std::nullopt));
    ZENFS_RETURN_IF_ERROR(mark->Sync());
    return mark->Close();
  }

  const std::shared_ptr<Volume> volume_;
};

// True if `path` is `directory` or above it. Both are normalised.
bool Contains(const std::string& path, const std::string& directory) {
  return path.empty() || directory == path || directory.starts_with(path + "/");
}

Error NotRemoved(Code code, std::string_view path, std::string_view why) {
  return Error(code, fmt::format("{} is no checkpoint: {}", path, why));
}

}  // namespace

Result<std::unique_ptr<EngineVolume>> EngineVolume::Mount(const std::string& uri,
                                                          const std::string& data_directory) {
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, VolumeOfUri(uri));
  auto files = std::make_shared<EngineFiles>(std::make_unique<ZenFileSystem>(uri, volume), volume);
  return std::unique_ptr<EngineVolume>(
      new EngineVolume(std::move(volume), std::move(files), NormalizePath(data_directory)));
}

EngineVolume::EngineVolume(std::shared_ptr<Volume> volume, std::shared_ptr<rocksdb::FileSystem> file_system,
                           std::string data_directory)
    : volume_(std::move(volume)),
      data_directory_(std::move(data_directory)),
      files_of_host_(ExchangeDefaultFiles(std::move(file_system))) {}

EngineVolume::~EngineVolume() {
  IgnoreError(Unmount());
}  // a caller that wants the error has called it before

Status EngineVolume::Unmount() {
  if (files_of_host_ == nullptr) return {};
  ExchangeDefaultFiles(std::exchange(files_of_host_, nullptr));
  return volume_->Unmount();
}

Status EngineVolume::RemoveCheckpoint(const std::string& given) {
  const std::string path = NormalizePath(given);
  if (Contains(path, data_directory_)) {
    return Fail(NotRemoved(Code::kBusy, given, "the database of this server is there"));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(path));
  bool marked = false;
  for (const DirectoryEntry& entry : entries) {
    if (entry.stat.is_directory) {
      return Fail(NotRemoved(Code::kIsADirectory, given, entry.name + " in it is a directory"));
    }
    // RocksDB makes this file when it opens a database for writing, and leaves it. A checkpoint has none.
    if (entry.name == "LOCK") {
      return Fail(NotRemoved(Code::kBusy, given, "it has been opened as a database (there is a file LOCK)"));
    }
    marked = marked || entry.name == kCheckpointMark;
  }
  if (!marked) {
    return Fail(NotRemoved(Code::kNotSupported, given,
                           fmt::format("the file {} of rocksdb_create_checkpoint is missing; stop the server "
                                       "and use zenfs rmdir --force if it is to go",
                                       kCheckpointMark)));
  }
  // The mark goes last, so that the statement can be repeated.
  for (const DirectoryEntry& entry : entries) {
    if (entry.name != kCheckpointMark) ZENFS_RETURN_IF_ERROR(volume_->Unlink(Below(path, entry.name)));
  }
  ZENFS_RETURN_IF_ERROR(volume_->Unlink(Below(path, kCheckpointMark)));
  return volume_->RemoveDirectory(path);
}

}  // namespace zenfs::myrocks
