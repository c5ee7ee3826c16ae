#include "device/presence.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"

namespace zenfs {
namespace {

// The zones are spread over the device, so that not all are metadata zones. Few, because each read may take until its
// timeout.
constexpr std::size_t kZonesAsked = 16;

}  // namespace

Status CheckPresence(ZonedDevice& device) {
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device));
  AlignedBuffer block(geometry.block_size);
  block.Resize(geometry.block_size);
  std::vector<DeviceOffset> written;
  for (const ZoneInfo& zone : report) {
    if (zone.WrittenBytes() >= geometry.block_size) written.push_back(zone.start);
  }
  const std::size_t asked = std::min(kZonesAsked, written.size());
  std::optional<Error> first;
  for (std::size_t i = 0; i < asked; ++i) {
    const Status read = device.Read(written[i * written.size() / asked], block.Span());
    if (read.ok()) return {};
    if (!first) first = read.error();
  }
  if (!first) return {};
  return Fail(Code::kIo, fmt::format("{}; none of {} zones can be read: is the device still there?",
                                     first->text(), asked));
}

Status CheckNotGone(const ZonedDevice& device) {
  if (!device.IsGone()) return {};
  return Fail(Code::kIo, fmt::format("{}: this device is gone", device.name()));
}

}  // namespace zenfs
