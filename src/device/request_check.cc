#include "device/request_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/aligned_buffer.h"

namespace zenfs {
namespace {

std::unexpected<Error> Invalid(std::string text) { return Fail(Code::kInvalidArgument, std::move(text)); }

}  // namespace

Status CheckOffset(const std::string& name, const Geometry& g, std::string_view what, DeviceOffset offset) {
  if (offset.value >= g.size_bytes()) {
    return Invalid(fmt::format("{}: {} at {}, beyond the end of the device at {}", name, what, offset.value,
                               g.size_bytes()));
  }
  if (!IsMultiple(offset.value, g.block_size)) {
    return Invalid(fmt::format("{}: {} at {}, not a multiple of the block size {}", name, what, offset.value,
                               g.block_size));
  }
  return {};
}

Status CheckBuffer(const std::string& name, const Geometry& g, std::string_view what, ByteView bytes) {
  if (!IsMultiple(bytes.size(), g.block_size)) {
    return Invalid(fmt::format("{}: {} of {} bytes, not a multiple of the block size {}", name, what,
                               bytes.size(), g.block_size));
  }
  const std::uint64_t alignment = std::min<std::uint64_t>(g.block_size, AlignedBuffer::kAlignment);
  if (!IsMultiple(reinterpret_cast<std::uintptr_t>(bytes.data()), alignment)) {
    return Invalid(
        fmt::format("{}: {} with a buffer that is not aligned to {} bytes", name, what, alignment));
  }
  return {};
}

Result<ZoneId> CheckCommit(const std::string& name, const Geometry& g, DeviceOffset to) {
  if (to.value != 0 && to.value <= g.size_bytes() && IsMultiple(to.value, g.block_size)) {
    return g.ZoneOf(DeviceOffset(to.value - 1));
  }
  return Invalid(
      fmt::format("{}: commit up to {}, which is no end of a block of the device", name, to.value));
}

Status CheckZoneId(const std::string& name, const Geometry& g, ZoneId zone) {
  if (zone.value < g.zone_count) return {};
  return Invalid(fmt::format("{}: zone {} of a device with {} zones", name, zone.value, g.zone_count));
}

Status CheckZoneRange(const std::string& name, const Geometry& g, ZoneId first, std::uint32_t count) {
  if (first.value <= g.zone_count && count <= g.zone_count - first.value) return {};
  return Invalid(fmt::format("{}: report of {} zones from zone {} of a device with {} zones", name, count,
                             first.value, g.zone_count));
}

}  // namespace zenfs
