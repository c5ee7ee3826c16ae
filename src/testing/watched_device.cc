#include "testing/watched_device.h"

#include "testing/immediate_queue.h"

namespace zenfs {

Result<std::vector<ZoneInfo>> WatchedDevice::Report(ZoneId first, std::uint32_t count) {
  Result<std::vector<ZoneInfo>> report = device_->Report(first, count);
  if (report && hooks_.reported) hooks_.reported(*report);
  return report;
}

Status WatchedDevice::Read(DeviceOffset offset, ByteSpan into) {
  if (hooks_.before_read) ZENFS_RETURN_IF_ERROR(hooks_.before_read(offset, into.size()));
  ZENFS_RETURN_IF_ERROR(device_->Read(offset, into));
  if (hooks_.was_read) hooks_.was_read(offset, into);
  return {};
}

Status WatchedDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  std::size_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  if (hooks_.before_write) ZENFS_RETURN_IF_ERROR(hooks_.before_write(offset, bytes));
  return device_->Write(offset, pieces);
}

Result<DeviceOffset> WatchedDevice::Append(ZoneId zone, ByteView bytes) {
  if (hooks_.before_write) {
    ZENFS_RETURN_IF_ERROR(hooks_.before_write(geometry().ZoneStart(zone), bytes.size()));
  }
  return device_->Append(zone, bytes);
}

Status WatchedDevice::Reset(ZoneId zone) {
  if (hooks_.before_reset) ZENFS_RETURN_IF_ERROR(hooks_.before_reset(zone));
  return device_->Reset(zone);
}

std::unique_ptr<IoQueue> WatchedDevice::CreateQueue(std::size_t) {
  return std::make_unique<ImmediateQueue>(*this);
}

}  // namespace zenfs
