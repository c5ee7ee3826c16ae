#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory_resource>
#include <utility>

#include "file/plain_file.h"
#include "file/read_batch.h"

namespace zenfs {
namespace {

Error OfFile(const Error& error, FileId id) { return error.With(fmt::format("file {}", id.value)); }

struct DeviceRead {
  std::shared_ptr<const FileView> view;
  std::size_t total = 0;        // bytes of the request before the end of the file
  std::size_t from_device = 0;  // length of their front that must be read through the view
};

// Copies the bytes that are only in the buffer, and returns the part that the caller reads from the device without a
// lock.
DeviceRead PrepareRead(const PlainFileParts& file, std::uint64_t offset, ByteSpan into) EXCLUDES(file.mutex) {
  DeviceRead read{file.published.view.Get(), 0, 0};
  const std::uint64_t on_device = read.view->end();
  if (offset < on_device && into.size() <= on_device - offset) {
    read.total = read.from_device = into.size();
    return read;
  }
  if (file.published.size.load(std::memory_order_acquire) <= on_device) {  // nothing is buffered
    read.total = read.from_device = offset < on_device ? on_device - offset : 0;
    return read;
  }
  MutexLock lock(file.mutex);
  if (offset >= file.content.size()) return read;
  read.view = file.published.view.Get();
  read.total = std::min<std::uint64_t>(into.size(), file.content.size() - offset);
  const std::uint64_t mapped = read.view->end();
  read.from_device = offset < mapped ? std::min<std::uint64_t>(read.total, mapped - offset) : 0;
  if (read.from_device < read.total) {
    const ByteView buffered =
        file.content.tail().View().subspan(offset + read.from_device - file.content.tail_offset());
    std::memcpy(into.data() + read.from_device, buffered.data(), read.total - read.from_device);
  }
  return read;
}

// A read of which a part comes from the device. It does not keep its view, and so pins no zone: a caller may let it stand for
// minutes, and the collector needs the zones.
class StartedRead final : public PendingRead {
 public:
  // `file` outlives it.
  StartedRead(const PlainFile& file, FileId id, ReadPool& reads, const DeviceRead& read, std::uint64_t offset,
              ByteSpan into)
      : file_(file),
        id_(id),
        view_(read.view),
        total_(read.total),
        into_(into),
        request_{.offset = offset, .into = into.first(read.from_device), .status = {}},
        batch_(reads.Lend()) {
    batch_->Start(read.view->extents, std::span(&request_, 1));
  }

  Result<std::size_t> Finish() override {
    batch_->Finish();
    // A view that is still there was there all the time, so no zone was reset under the read.
    if (view_.expired()) return file_.Read(request_.offset, into_, ReadSource::kDevice);
    if (!request_.status.ok()) return Fail(OfFile(request_.status.error(), id_));
    return total_;
  }

 private:
  const PlainFile& file_;
  const FileId id_;
  const std::weak_ptr<const FileView> view_;
  const std::size_t total_;
  const ByteSpan into_;
  ReadRequest request_;
  ReadPool::Lease batch_;
};

// The host's cache reads ahead; the bytes are copied at the end.
class CachedAheadRead final : public PendingRead {
 public:
  // `file` outlives it.
  CachedAheadRead(const PlainFile& file, std::uint64_t offset, ByteSpan into)
      : file_(file), offset_(offset), into_(into) {}

  Result<std::size_t> Finish() override { return file_.Read(offset_, into_, ReadSource::kCache); }

 private:
  const PlainFile& file_;
  const std::uint64_t offset_;
  const ByteSpan into_;
};

}  // namespace

bool PlainFile::LiesIn(ZoneId zone) const {
  const std::shared_ptr<const FileView> view = file_.published.view.Get();
  return std::ranges::any_of(
      view->extents, [&](const Extent& extent) { return file_.geometry.ZoneOf(extent.place) == zone; });
}

Result<std::size_t> PlainFile::Read(std::uint64_t offset, ByteSpan into, ReadSource source) const {
  const DeviceRead read = PrepareRead(file_, offset, into);
  const Status status =
      ReadExtents(*file_.deps.device, read.view->extents, offset, into.first(read.from_device), source);
  if (!status.ok()) return Fail(OfFile(status.error(), file_.deps.id));
  return read.total;
}

void PlainFile::ReadMany(std::span<ReadRequest> requests, ReadSource source) const {
  std::array<std::byte, 4096> memory;  // enough for what RocksDB reads at once
  std::pmr::monotonic_buffer_resource stack(memory.data(), memory.size());
  std::pmr::vector<ReadRequest> device_part(&stack);
  device_part.reserve(requests.size());
  // All requests use one view.
  std::shared_ptr<const FileView> view;
  bool one_view = true;
  for (ReadRequest& request : requests) {
    DeviceRead read = PrepareRead(file_, request.offset, request.into);
    request.into = request.into.first(read.total);
    device_part.push_back({request.offset, request.into.first(read.from_device), {}});
    if (view != nullptr && view.get() != read.view.get()) one_view = false;
    view = std::move(read.view);
  }
  if (!one_view) {
    // The file changed between two requests, which is rare: read each one alone.
    for (ReadRequest& request : requests) {
      auto got = Read(request.offset, request.into, source);
      request.status = got ? Status{} : Fail(got.error());
      if (got) request.into = request.into.first(*got);
    }
    return;
  }
  if (view == nullptr) return;
  file_.deps.reads->Lend()->Read(view->extents, device_part, source);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Status& status = device_part[i].status;
    requests[i].status = status.ok() ? Status() : Fail(OfFile(status.error(), file_.deps.id));
  }
}

std::unique_ptr<PendingRead> PlainFile::StartRead(std::uint64_t offset, ByteSpan into,
                                                  ReadSource source) const {
  const DeviceRead read = PrepareRead(file_, offset, into);
  if (read.from_device == 0) return std::make_unique<FinishedRead>(read.total);
  ZonedDevice& device = *file_.deps.device;
  if (source == ReadSource::kCache && device.host_cache() != nullptr) {
    AdviseExtents(device, read.view->extents, offset, read.from_device, CacheAdvice::kWillNeed);
    return std::make_unique<CachedAheadRead>(*this, offset, into);
  }
  ReadPool& reads = *file_.deps.reads;
  if (!reads.MayStart()) return std::make_unique<FinishedRead>(Read(offset, into, source));
  return std::make_unique<StartedRead>(*this, file_.deps.id, reads, read, offset, into);
}

void PlainFile::Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const {
  const std::shared_ptr<const FileView> view = file_.published.view.Get();
  AdviseExtents(*file_.deps.device, view->extents, offset, length, advice);
}

}  // namespace zenfs
