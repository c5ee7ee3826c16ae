#include <algorithm>
#include <cstring>

#include "file/plain_file.h"

namespace zenfs {

bool PlainFile::LiesIn(ZoneId zone) const {
  const std::shared_ptr<const FileView> view = view_.Get();
  return std::ranges::any_of(view->extents,
                             [&](const Extent& extent) { return geometry_.ZoneOf(extent.place) == zone; });
}

// Copies the bytes that are only in the buffer, and returns the part that the caller reads from the device without a
// lock.
PlainFile::DeviceRead PlainFile::PrepareRead(std::uint64_t offset, ByteSpan into) const {
  DeviceRead read{view_.Get(), 0, 0};
  const std::uint64_t on_device = read.view->end();
  if (offset < on_device && into.size() <= on_device - offset) {
    read.total = read.from_device = into.size();
    return read;
  }
  if (size() <= on_device) {  // nothing is buffered
    read.total = read.from_device = offset < on_device ? on_device - offset : 0;
    return read;
  }
  MutexLock lock(mutex_);
  if (offset >= size_) return read;
  read.view = view_.Get();
  read.total = std::min<std::uint64_t>(into.size(), size_ - offset);
  const std::uint64_t mapped = read.view->end();
  read.from_device = offset < mapped ? std::min<std::uint64_t>(read.total, mapped - offset) : 0;
  if (read.from_device < read.total) {
    const ByteView buffered = tail_.View().subspan(offset + read.from_device - TailOffset());
    std::memcpy(into.data() + read.from_device, buffered.data(), read.total - read.from_device);
  }
  return read;
}

Result<std::size_t> PlainFile::Read(std::uint64_t offset, ByteSpan into) const {
  const DeviceRead read = PrepareRead(offset, into);
  ZENFS_RETURN_IF_ERROR(ReadExtents(*deps_.device, read.view->extents, offset, into.first(read.from_device)));
  return read.total;
}

void PlainFile::ReadMany(std::span<ReadRequest> requests) const {
  std::vector<ReadRequest> device_part;
  // All requests use one view.
  std::shared_ptr<const FileView> view;
  bool one_view = true;
  for (ReadRequest& request : requests) {
    DeviceRead read = PrepareRead(request.offset, request.into);
    request.into = request.into.first(read.total);
    device_part.push_back({request.offset, request.into.first(read.from_device), {}});
    if (view != nullptr && view.get() != read.view.get()) one_view = false;
    view = std::move(read.view);
  }
  if (!one_view) {
    // The file changed between two requests, which is rare: read each one alone.
    for (ReadRequest& request : requests) {
      auto got = Read(request.offset, request.into);
      request.status = got ? Status{} : Fail(got.error());
      if (got) request.into = request.into.first(*got);
    }
    return;
  }
  if (view == nullptr) return;
  ReadExtentsMany(*deps_.device, view->extents, device_part);
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].status = std::move(device_part[i].status);
}

}  // namespace zenfs
