#include "rocksdb_plugin/random_access_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <memory_resource>
#include <string>
#include <utility>

#include "base/zeros.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::byte kNotLoaded{0};
constexpr std::byte kLoaded{1};

}  // namespace

// --- the file ---

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

// --- readahead ---

FileReadahead::Range FileReadahead::Next(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  MutexLock lock(mutex_);
  ++reads_;
  const auto stream = std::ranges::find(streams_, offset, &Stream::end);
  if (stream == streams_.end()) {
    *std::ranges::min_element(streams_, {}, &Stream::used) = {
        .end = end, .ahead = end, .window = 0, .used = reads_};
    return {};
  }
  stream->end = end;
  stream->used = reads_;
  stream->ahead = std::max(stream->ahead, end);
  // The next window begins when half of the last one is used, so that the device works while the reader does.
  if (stream->ahead - end > stream->window / 2) return {};
  stream->window = stream->window == 0 ? kFirstWindow : std::min(2 * stream->window, kLargestWindow);
  const Range range{stream->ahead, stream->window};
  stream->ahead += stream->window;
  return range;
}

// --- the map ---

MappedFile::MappedFile(const FileHandle& file, ByteSpan memory)
    : file_(file),
      memory_(memory),
      loaded_(MakeZeroPages(std::max<std::size_t>(1, (memory.size() + kPiece - 1) / kPiece))) {}

MappedFile::~MappedFile() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

Result<std::unique_ptr<MappedFile>> MappedFile::Of(const FileHandle& file) {
  const std::uint64_t size = file.size();
  ByteSpan memory;
  if (size != 0) {
    // Pages count against the host's memory only after they are touched.
    void* mapped =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      return Fail(Code::kNoSpace, fmt::format("no addresses for {} bytes of a file", size), errno);
    }
    memory = {static_cast<std::byte*>(mapped), size};
  }
  return std::unique_ptr<MappedFile>(new MappedFile(file, memory));
}

Result<ByteView> MappedFile::Read(std::uint64_t offset, std::size_t n) {
  if (offset >= memory_.size() || n == 0) return ByteView();
  const std::size_t length = std::min<std::uint64_t>(n, memory_.size() - offset);
  const std::size_t last = (offset + length - 1) / kPiece;
  for (std::size_t piece = offset / kPiece; piece <= last; ++piece) {
    if (Loaded(piece).load(std::memory_order_acquire) == kNotLoaded) ZENFS_RETURN_IF_ERROR(Load(piece));
  }
  return memory_.subspan(offset, length);
}

Status MappedFile::Load(std::size_t piece) {
  MutexLock lock(mutex_);
  if (Loaded(piece).load(std::memory_order_relaxed) != kNotLoaded) return {};
  const std::size_t start = piece * kPiece;
  const ByteSpan into = memory_.subspan(start, std::min(kPiece, memory_.size() - start));
  ZENFS_ASSIGN_OR_RETURN(const std::size_t count, file_.Read(start, into));
  if (count != into.size()) {
    return Fail(Code::kIo,
                fmt::format("{} bytes at {} of a file that was {} bytes long", count, start, memory_.size()));
  }
  Loaded(piece).store(kLoaded, std::memory_order_release);
  return {};
}

// --- asynchronous reads ---

#if ZENFS_ROCKSDB_HAS_READ_ASYNC

namespace {

// A handle of RocksDB's.
class AsyncRead {
 public:
  AsyncRead(const MountedFile& file, const FSReadRequest& request, ReadSource source,
            ReadAsyncCallback callback, void* argument)
      : volume_(file.volume), path_(file.path), callback_(std::move(callback)), argument_(argument) {
    request_.offset = request.offset;
    request_.len = request.len;
    request_.scratch = request.scratch;
    read_ = file.handle->StartRead(request.offset, ScratchBytes(request.scratch, request.len), source);
  }

  void Finish() {
    if (read_ == nullptr) return;  // has ended before
    const Result<std::size_t> count = std::exchange(read_, nullptr)->Finish();
    if (count) request_.result = Slice(request_.scratch, *count);
    End(count ? IOStatus::OK() : ToIOStatus(count.error(), "reading", path_));
  }

  void Abort() {
    if (read_ == nullptr) return;
    read_.reset();
    End(IOStatus::Aborted());
  }

 private:
  void End(IOStatus status) {
    request_.status = std::move(status);
    callback_(request_, argument_);
    request_.status.PermitUncheckedError();
  }

  const std::shared_ptr<Volume> volume_;  // first: stays mounted until the read has ended
  const std::string path_;
  const ReadAsyncCallback callback_;
  void* const argument_;
  FSReadRequest request_;
  std::unique_ptr<PendingRead> read_;
};

}  // namespace

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
    *del_fn = [](void* handle) { delete static_cast<AsyncRead*>(handle); };
    *io_handle = new AsyncRead(file_, req, source_, std::move(cb), cb_arg);
    return IOStatus::OK();
  });
}

IOStatus PollAsyncReads(const std::vector<void*>& handles) {
  return Guarded([&] {
    for (void* const handle : handles) {
      if (handle != nullptr) static_cast<AsyncRead*>(handle)->Finish();
    }
    return IOStatus::OK();
  });
}

IOStatus AbortAsyncReads(const std::vector<void*>& handles) {
  return Guarded([&] {
    for (void* const handle : handles) {
      if (handle != nullptr) static_cast<AsyncRead*>(handle)->Abort();
    }
    return IOStatus::OK();
  });
}

#endif

}  // namespace zenfs
