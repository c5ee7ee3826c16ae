#include "file_system.h"

#include <string_view>

#include "ideal_readable_file.h"
#include "ideal_writable_file.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {
namespace {

constexpr std::string_view kScheme = "ideal://";

template <typename File>
IOStatus OpenToRead(const std::shared_ptr<IdealDrive>& drive, const std::string& path,
                    const FileOptions& options, std::unique_ptr<File>* result, auto&& make) {
  return Guarded([&] {
    auto file = MemoryFile::Open(path, MemoryFile::Mode::kRead);
    if (!file) return ToIOStatus(file.error(), "opening", path);
    *result = make(IdealSource{
        .drive = drive, .file = *std::move(file), .path = path, .direct = options.use_direct_reads});
    return IOStatus::OK();
  });
}

IOStatus OpenToWrite(const std::shared_ptr<IdealDrive>& drive, const std::string& path, MemoryFile::Mode mode,
                     const FileOptions& options, std::unique_ptr<rocksdb::FSWritableFile>* result) {
  return Guarded([&] {
    auto file = MemoryFile::Open(path, mode);
    if (!file) return ToIOStatus(file.error(), "creating", path);
    *result = std::make_unique<IdealWritableFile>(drive, *std::move(file), path, options);
    return IOStatus::OK();
  });
}

}  // namespace

Result<std::unique_ptr<rocksdb::FileSystem>> IdealFileSystemOfUri(const std::string& uri) {
  std::string_view rest(uri);
  if (!rest.starts_with(kScheme)) return Fail(Code::kInvalidArgument, uri + ": want ideal://PROFILE[?FILE]");
  rest.remove_prefix(kScheme.size());
  const std::size_t mark = rest.find('?');
  ZENFS_ASSIGN_OR_RETURN(const Timing timing, ParseTiming(rest.substr(0, mark)));
  std::string counters(mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 1));
  return std::make_unique<IdealFileSystem>(IdealDrive::Create(timing, std::move(counters)));
}

IdealFileSystem::IdealFileSystem(std::shared_ptr<IdealDrive> drive)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), drive_(std::move(drive)) {}

IOStatus IdealFileSystem::NewSequentialFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                            IODebugContext*) {
  return OpenToRead(drive_, path, options, result, [](IdealSource source) {
    return std::make_unique<IdealSequentialFile>(std::move(source));
  });
}

IOStatus IdealFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                              IODebugContext*) {
  return OpenToRead(drive_, path, options, result, [](IdealSource source) {
    return std::make_unique<IdealRandomAccessFile>(std::move(source));
  });
}

IOStatus IdealFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) {
  return OpenToWrite(drive_, path, MemoryFile::Mode::kReplace, options, result);
}

IOStatus IdealFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext*) {
  return OpenToWrite(drive_, path, MemoryFile::Mode::kAppend, options, result);
}

IOStatus IdealFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                            const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSWritableFile>* result,
                                            IODebugContext* dbg) {
  const IOStatus renamed = RenameFile(old_path, path, options.io_options, dbg);
  return renamed.ok() ? NewWritableFile(path, options, result, dbg) : renamed;
}

IOStatus IdealFileSystem::GetFileSize(const std::string& path, const IOOptions&, uint64_t* size,
                                      IODebugContext*) {
  return Guarded([&] {
    const Result<std::uint64_t> found = MemoryFile::SizeOf(path);
    if (!found) return ToIOStatus(found.error(), "looking at", path);
    *size = *found;
    return IOStatus::OK();
  });
}

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
IOStatus IdealFileSystem::Poll(std::vector<void*>& io_handles, size_t) { return PollIdealReads(io_handles); }
IOStatus IdealFileSystem::AbortIO(std::vector<void*>& io_handles) { return AbortIdealReads(io_handles); }
#endif

#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
void IdealFileSystem::SupportedOps(int64_t& supported_ops) {
  supported_ops = int64_t{1} << rocksdb::FSSupportedOps::kAsyncIO;
}
#endif

}  // namespace zenfs
