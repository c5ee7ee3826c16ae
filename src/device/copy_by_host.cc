#include "device/copy_by_host.h"

#include "base/aligned_buffer.h"
#include "device/request_check.h"

namespace zenfs {

Status CopyByHost(ZonedDevice& device, DeviceOffset from, DeviceOffset to, std::uint64_t length) {
  ZENFS_RETURN_IF_ERROR(CheckCopy(device.name(), device.geometry(), from, to, length));
  AlignedBuffer buffer(length);
  buffer.Resize(length);
  ZENFS_RETURN_IF_ERROR(device.Read(from, buffer.Span()));
  return device.Write(to, buffer.View());
}

}  // namespace zenfs
