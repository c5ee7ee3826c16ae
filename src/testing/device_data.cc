#include "testing/device_data.h"

#include <algorithm>

#include "base/random.h"

namespace zenfs {

AlignedBuffer Pattern(std::size_t size, std::uint64_t seed) {
  AlignedBuffer buffer(size);
  buffer.Resize(size);
  Random(seed).Fill(buffer.Span());
  return buffer;
}

Result<AlignedBuffer> ReadBack(ZonedDevice& device, DeviceOffset offset, std::size_t size) {
  AlignedBuffer buffer(size);
  buffer.Resize(size);
  ZENFS_RETURN_IF_ERROR(device.Read(offset, buffer.Span()));
  return buffer;
}

bool SameBytes(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

ZoneInfo ReportOf(ZonedDevice& device, ZoneId zone) { return device.ReportZone(zone).value(); }

}  // namespace zenfs
