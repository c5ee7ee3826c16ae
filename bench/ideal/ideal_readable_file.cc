#include "ideal_readable_file.h"

#include <algorithm>
#include <span>

#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

SteadyTime IdealSource::Start(uint64_t offset, size_t n, Slice* result, char* scratch) const {
  const std::size_t got = file->Read(offset, std::as_writable_bytes(std::span(scratch, n)));
  *result = Slice(scratch, got);
  // The host's cache of the limit holds all that there is.
  return got == 0 || !direct ? SteadyTime() : drive->SendRead(ZoneId(0), offset, got);
}

IOStatus IdealRandomAccessFile::Read(uint64_t offset, size_t n, const IOOptions&, Slice* result,
                                     char* scratch, IODebugContext*) const {
  return Guarded([&] {
    source_.drive->WaitUntil(source_.Start(offset, n, result, scratch));
    return IOStatus::OK();
  });
}

IOStatus IdealRandomAccessFile::MultiRead(FSReadRequest* reqs, size_t num_reqs, const IOOptions&,
                                          IODebugContext*) {
  return Guarded([&] {
    SteadyTime last;
    for (FSReadRequest& request : std::span(reqs, num_reqs)) {
      last = std::max(last, source_.Start(request.offset, request.len, &request.result, request.scratch));
      request.status = IOStatus::OK();
    }
    source_.drive->WaitUntil(last);
    return IOStatus::OK();
  });
}

#if ZENFS_ROCKSDB_HAS_READ_ASYNC

namespace {

// A read in flight; RocksDB's handle of it.
struct PendingRead {
  std::shared_ptr<IdealDrive> drive;
  SteadyTime due;
  uint64_t offset;
  size_t length;
  char* scratch;
  Slice result;
  ReadAsyncCallback callback;
  void* argument;
  bool done = false;

  void Finish(const IOStatus& status) {
    if (done) return;
    done = true;
    FSReadRequest request;
    request.offset = offset;
    request.len = length;
    request.scratch = scratch;
    request.result = status.ok() ? result : Slice();
    request.status = status;
    callback(request, argument);
  }
};

}  // namespace

IOStatus IdealRandomAccessFile::ReadAsync(FSReadRequest& req, const IOOptions&, ReadAsyncCallback cb,
                                          void* cb_arg, void** io_handle, rocksdb::IOHandleDeleter* del_fn,
                                          IODebugContext*) {
  return Guarded([&] {
    auto pending = std::make_unique<PendingRead>();
    pending->drive = source_.drive;
    pending->due = source_.Start(req.offset, req.len, &pending->result, req.scratch);
    pending->offset = req.offset;
    pending->length = req.len;
    pending->scratch = req.scratch;
    pending->callback = std::move(cb);
    pending->argument = cb_arg;
    *del_fn = [](void* handle) { delete static_cast<PendingRead*>(handle); };
    *io_handle = pending.release();
    return IOStatus::OK();
  });
}

IOStatus PollIdealReads(std::vector<void*>& io_handles) {
  return Guarded([&] {
    for (void* const handle : io_handles) {
      auto* const read = static_cast<PendingRead*>(handle);
      read->drive->WaitUntil(read->due);
      read->Finish(IOStatus::OK());
    }
    return IOStatus::OK();
  });
}

IOStatus AbortIdealReads(std::vector<void*>& io_handles) {
  return Guarded([&] {
    for (void* const handle : io_handles) static_cast<PendingRead*>(handle)->Finish(IOStatus::Aborted());
    return IOStatus::OK();
  });
}

#endif

IOStatus IdealSequentialFile::Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                                   IODebugContext* dbg) {
  const IOStatus read = PositionedRead(position_, n, options, result, scratch, dbg);
  if (read.ok()) position_ += result->size();
  return read;
}

IOStatus IdealSequentialFile::PositionedRead(uint64_t offset, size_t n, const IOOptions&, Slice* result,
                                             char* scratch, IODebugContext*) {
  return Guarded([&] {
    source_.drive->WaitUntil(source_.Start(offset, n, result, scratch));
    return IOStatus::OK();
  });
}

IOStatus IdealSequentialFile::Skip(uint64_t n) {
  const uint64_t size = source_.file->size();
  position_ = std::min(size, n > size - std::min(size, position_) ? size : position_ + n);
  return IOStatus::OK();
}

}  // namespace zenfs
