#include "device/presence.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"

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

Result<std::optional<DeviceOffset>> FindReadable(ZonedDevice& device, Deadline deadline) {
  const std::uint32_t block_size = device.geometry().block_size;
  ZENFS_ASSIGN_OR_RETURN(std::vector<ZoneInfo> written, ReportAll(device));
  std::erase_if(written, [&](const ZoneInfo& zone) {
    return zone.condition == ZoneCondition::kOffline || zone.WrittenBytes() < block_size;
  });
  AlignedBuffer block(block_size);
  block.Resize(block_size);
  const std::size_t asked = std::min(kZonesAsked, written.size());
  Status read;
  for (const bool last : {false, true}) {
    for (std::size_t i = 0; i < asked; ++i) {
      const ZoneInfo& zone = written[i * written.size() / asked];
      const std::uint64_t at = last ? RoundDown(zone.WrittenBytes(), block_size) - block_size : 0;
      read = device.Read(zone.start + at, block.Span());
      if (read.ok()) return zone.start + at;
      // Each of the others may take as long.
      if (read.error().code() == Code::kTimedOut || deadline.Passed()) return Fail(read.error());
    }
  }
  if (!read.ok()) return Fail(read.error());
  return std::nullopt;
}

}  // namespace zenfs
