#include "rocksdb_plugin/aux_file_system.h"
#include "rocksdb_plugin/logger.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

IOStatus AuxFileSystem::NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                                          std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                          IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->NewSequentialFile(fname, file_opts, result, dbg);
    return aux_.On(*host, [&] { return aux_.host().NewSequentialFile(*host, file_opts, result, dbg); });
  });
}

IOStatus AuxFileSystem::NewRandomAccessFile(const std::string& fname, const FileOptions& file_opts,
                                            std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                            IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->NewRandomAccessFile(fname, file_opts, result, dbg);
    return aux_.On(*host, [&] { return aux_.host().NewRandomAccessFile(*host, file_opts, result, dbg); });
  });
}

IOStatus AuxFileSystem::NewWritableFile(const std::string& fname, const FileOptions& file_opts,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result,
                                        IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->NewWritableFile(fname, file_opts, result, dbg);
    IOStatus ready = PrepareNew(fname);
    if (!ready.ok()) return ready;
    return aux_.On(*host, [&] { return aux_.host().NewWritableFile(*host, file_opts, result, dbg); });
  });
}

IOStatus AuxFileSystem::ReopenWritableFile(const std::string& fname, const FileOptions& file_opts,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->ReopenWritableFile(fname, file_opts, result, dbg);
    IOStatus ready = PrepareNew(fname);
    if (!ready.ok()) return ready;
    return aux_.On(*host, [&] { return aux_.host().ReopenWritableFile(*host, file_opts, result, dbg); });
  });
}

IOStatus AuxFileSystem::ReuseWritableFile(const std::string& fname, const std::string& old_fname,
                                          const FileOptions& file_opts,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* dbg) {
  result->reset();
  IOStatus deleted = DeleteFile(old_fname, file_opts.io_options, dbg);
  return deleted.ok() ? NewWritableFile(fname, file_opts, result, dbg) : deleted;
}

IOStatus AuxFileSystem::NewLogger(const std::string& fname, const IOOptions& io_opts,
                                  std::shared_ptr<rocksdb::Logger>* result, IODebugContext* dbg) {
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->NewLogger(fname, io_opts, result, dbg);
    IOStatus ready = PrepareNew(fname);
    if (!ready.ok()) return ready;
    IOStatus made = aux_.On(*host, [&] { return aux_.host().NewLogger(*host, io_opts, result, dbg); });
    if (made.ok()) LogNotices(*volume_, **result);
    return made;
  });
}

IOStatus AuxFileSystem::LockFile(const std::string& fname, const IOOptions& options, rocksdb::FileLock** lock,
                                 IODebugContext* dbg) {
  *lock = nullptr;
  return Guarded([&] {
    const auto host = OnHost(fname);
    if (!host) return target()->LockFile(fname, options, lock, dbg);
    IOStatus ready = PrepareNew(fname);
    if (!ready.ok()) return ready;
    IOStatus locked = aux_.On(*host, [&] { return aux_.host().LockFile(*host, options, lock, dbg); });
    if (!locked.ok()) return locked;
    MutexLock hold(mutex_);
    host_locks_.insert(*lock);
    return locked;
  });
}

IOStatus AuxFileSystem::UnlockFile(rocksdb::FileLock* lock, const IOOptions& options, IODebugContext* dbg) {
  return Guarded([&] {
    bool of_host = false;
    {
      MutexLock hold(mutex_);
      of_host = host_locks_.erase(lock) > 0;
    }
    return of_host ? aux_.host().UnlockFile(lock, options, dbg) : target()->UnlockFile(lock, options, dbg);
  });
}

}  // namespace zenfs
