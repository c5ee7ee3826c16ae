#include "device/presence.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/aligned_buffer.h"

namespace zenfs {
namespace {

// The zones are spread over the device, so that not all are metadata zones. Few, because each read may take long to fail.
constexpr std::size_t kZonesAsked = 16;

}  // namespace

Status PresenceMark::Check(const ZonedDevice& device) const {
  if (device.IsGone()) return Fail(Code::kIo, fmt::format("{}: this device is gone", device.name()));
  if (device.errors().outages == outages_) return {};
  return Fail(Code::kIo, fmt::format("{}: for a time, no zone could be read: is the device still there?",
                                     device.name()));
}

Result<std::optional<DeviceOffset>> FindReadable(ZonedDevice& device, ZoneId first, std::uint32_t count,
                                                 Deadline deadline) {
  const std::uint32_t block_size = device.geometry().block_size;
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, device.Report(first, count));
  std::vector<DeviceOffset> written;
  for (const ZoneInfo& zone : report) {
    if (zone.condition != ZoneCondition::kOffline && zone.WrittenBytes() >= block_size)
      written.push_back(zone.start);
  }
  AlignedBuffer block(block_size);
  block.Resize(block_size);
  const std::size_t asked = std::min(kZonesAsked, written.size());
  Status read;
  for (std::size_t i = 0; i < asked; ++i) {
    const DeviceOffset offset = written[i * written.size() / asked];
    read = device.Read(offset, block.Span());
    if (read.ok()) return offset;
    // Each of the others may take as long.
    if (read.error().code() == Code::kTimedOut || deadline.Passed()) break;
  }
  if (!read.ok()) return Fail(read.error());
  return std::nullopt;
}

}  // namespace zenfs
