#include "rocksdb_plugin/random_access_file.h"

#include <algorithm>
#include <array>
#include <memory_resource>
#include <utility>
#include <vector>

#include "rocksdb_plugin/async_read.h"
#include "rocksdb_plugin/open_metadata.h"
#include "rocksdb_plugin/read_into.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

RandomAccessFile::RandomAccessFile(MountedFile file, const FileOptions& options)
    : file_(std::move(file)),
      direct_(options.use_direct_reads && file_.MayBeDirect()),
      mapped_(options.use_mmap_reads),
      source_(direct_ ? ReadSource::kDevice : ReadSource::kCache) {}

void RandomAccessFile::ReadAhead(std::uint64_t offset, std::size_t n, const IOOptions& options) const {
  if (source_ == ReadSource::kDevice) return;
  if (random_.load(std::memory_order_relaxed) && !IsForCompaction(options)) return;
  const FileReadahead::Range ahead = readahead_.Next(offset, n);
  if (ahead.length != 0) file_.handle->Advise(ahead.offset, ahead.length, CacheAdvice::kWillNeed);
}

IOStatus RandomAccessFile::Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result,
                                char* scratch, IODebugContext*) const {
  return Guarded([&] {
    if (scratch == nullptr || mapped_) return ReadMapped(offset, n, result);
    ReadAhead(offset, n, options);
    return ReadInto(file_, offset, n, result, scratch, source_);
  });
}

IOStatus RandomAccessFile::ReadMapped(uint64_t offset, size_t n, Slice* result) const {
  *result = Slice();
  MappedFile* map = nullptr;
  {
    MutexLock lock(map_mutex_);
    if (map_ == nullptr) {
      auto made = MappedFile::Of(*file_.handle);
      if (!made) return ToIOStatus(made.error(), "reading", file_.path);
      map_ = std::move(*made);
    }
    map = map_.get();
  }
  const Result<ByteView> bytes = map->Read(offset, n);
  if (!bytes) return ToIOStatus(bytes.error(), "reading", file_.path);
  // An empty result needs a valid pointer, too: RocksDB passes it to memcmp.
  *result = bytes->empty() ? Slice() : Slice(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return IOStatus::OK();
}

IOStatus RandomAccessFile::MultiRead(FSReadRequest* reqs, size_t num_reqs, const IOOptions&,
                                     IODebugContext*) {
  return Guarded([&] {
    std::array<std::byte, 4096> memory;  // enough for what RocksDB reads at once
    std::pmr::monotonic_buffer_resource stack(memory.data(), memory.size());
    std::pmr::vector<ReadRequest> requests(&stack);
    std::pmr::vector<FSReadRequest*> owners(&stack);  // in the order of the requests
    requests.reserve(num_reqs);
    owners.reserve(num_reqs);
    for (FSReadRequest& request : std::span(reqs, num_reqs)) {
      request.result = Slice();
      if (request.scratch == nullptr || mapped_) {
        request.status = ReadMapped(request.offset, request.len, &request.result);
        continue;
      }
      requests.push_back(
          {.offset = request.offset, .into = ScratchBytes(request.scratch, request.len), .status = {}});
      owners.push_back(&request);
    }
    file_.handle->ReadMany(requests, source_);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      owners[i]->status = ToIOStatus(requests[i].status, "reading", file_.path);
      if (requests[i].status.ok()) owners[i]->result = Slice(owners[i]->scratch, requests[i].into.size());
    }
    return IOStatus::OK();
  });
}

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
IOStatus RandomAccessFile::ReadAsync(FSReadRequest& req, const IOOptions& opts, ReadAsyncCallback cb,
                                     void* cb_arg, void** io_handle, rocksdb::IOHandleDeleter* del_fn,
                                     IODebugContext* dbg) {
  // A null handle: RocksDB neither polls nor deletes it.
  if (io_handle != nullptr) *io_handle = nullptr;
  if (del_fn != nullptr) *del_fn = nullptr;
  const bool takes_handle = io_handle != nullptr && del_fn != nullptr;
  if (!takes_handle || req.scratch == nullptr || mapped_ || !file_.volume->StartsReads()) {
    req.status = Read(req.offset, req.len, opts, &req.result, req.scratch, dbg);
    return Guarded([&] {
      cb(req, cb_arg);
      return IOStatus::OK();
    });
  }
  return Guarded([&] {
    *del_fn = DeleteAsyncRead;
    *io_handle = StartAsyncRead(file_, req, source_, std::move(cb), cb_arg);
    return IOStatus::OK();
  });
}
#endif

IOStatus RandomAccessFile::Prefetch(uint64_t offset, size_t n, const IOOptions&, IODebugContext*) {
  if (source_ == ReadSource::kDevice) return IOStatus::NotSupported("the file is read directly");
  return Guarded([&] {
    file_.handle->Advise(offset, n, CacheAdvice::kWillNeed);
    return IOStatus::OK();
  });
}

size_t RandomAccessFile::GetUniqueId(char* id, size_t max_size) const {
  return WriteUniqueId(file_, id, max_size);
}

#if ZENFS_ROCKSDB_HAS_SIZE_OF_READ_FILE
IOStatus RandomAccessFile::GetFileSize(uint64_t* result) {
  *result = file_.handle->size();
  return IOStatus::OK();
}
#endif

#if ZENFS_ROCKSDB_HAS_OPEN_METADATA
IOStatus RandomAccessFile::GetFileOpenMetadata(std::string* metadata) {
  return Guarded([&] {
    *metadata = OpenMetadataOf(file_);
    return IOStatus::OK();
  });
}
#endif

void RandomAccessFile::Hint(AccessPattern pattern) {
  switch (pattern) {
    case kNormal:
    case kSequential: random_ = false; return;
    case kRandom: random_ = true; return;
    case kWillNeed: Prefetch(0, file_.handle->size(), {}, nullptr).PermitUncheckedError(); return;
    case kWontNeed: InvalidateCache(0, 0).PermitUncheckedError(); return;
  }
}

IOStatus RandomAccessFile::InvalidateCache(size_t offset, size_t length) {
  return Guarded([&] {
    const std::uint64_t size =
        file_.handle->size();  // a length of 0 reaches to the end, as for posix_fadvise(2)
    const std::uint64_t all = size - std::min<std::uint64_t>(size, offset);
    file_.handle->Advise(offset, length == 0 ? all : length, CacheAdvice::kDontNeed);
    return IOStatus::OK();
  });
}

}  // namespace zenfs
