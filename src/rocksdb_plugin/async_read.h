// Asynchronous reads for RocksDB (FSRandomAccessFile::ReadAsync, FileSystem::Poll and AbortIO).
//
// A handle of RocksDB's is an AsyncRead. Poll waits for each of its handles and calls their callbacks, whatever number it is asked
// for, as PosixFileSystem does. AbortIO does the same with the status Aborted: without the callback, RocksDB would leak what
// belongs to the read. It waits for nothing: the device reads into memory of ours, and Poll copies. A scan gives up a read or two
// with each seek, and would wait for the device each time.
//
// Threads: any thread may poll or abort a handle, one at a time.
#pragma once

#include <memory>
#include <vector>

#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

#if ZENFS_ROCKSDB_HAS_READ_ASYNC

// Starts to read `request` and returns its handle, which DeleteAsyncRead deletes. `file` may be closed before it.
[[nodiscard]] void* StartAsyncRead(const MountedFile& file, const FSReadRequest& request, ReadSource source,
                                   ReadAsyncCallback callback, void* argument);
void DeleteAsyncRead(void* handle);

[[nodiscard]] IOStatus PollAsyncReads(const std::vector<void*>& handles);
[[nodiscard]] IOStatus AbortAsyncReads(const std::vector<void*>& handles);

#endif

}  // namespace zenfs
