#include "rocksdb_plugin/async_read.h"

#include <string>
#include <utility>

#include "rocksdb_plugin/read_into.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

#if ZENFS_ROCKSDB_HAS_READ_ASYNC

namespace {

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

void* StartAsyncRead(const MountedFile& file, const FSReadRequest& request, ReadSource source,
                     ReadAsyncCallback callback, void* argument) {
  return new AsyncRead(file, request, source, std::move(callback), argument);
}

void DeleteAsyncRead(void* handle) { delete static_cast<AsyncRead*>(handle); }

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
