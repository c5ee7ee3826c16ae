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

Status CheckCopy(const std::string& name, const Geometry& g, DeviceOffset from, DeviceOffset to,
                 std::uint64_t length) {
  if (g.max_copy_bytes == 0) return Fail(Code::kNotSupported, name + ": it does not copy");
  ZENFS_RETURN_IF_ERROR(CheckOffset(name, g, "copy from", from));
  ZENFS_RETURN_IF_ERROR(CheckOffset(name, g, "copy to", to));
  const auto fits = [&](DeviceOffset at) { return length <= g.zone_size - at.value % g.zone_size; };
  if (length != 0 && IsMultiple(length, g.block_size) && length <= g.max_copy_bytes && fits(from) &&
      fits(to)) {
    return {};
  }
  return Invalid(fmt::format(
      "{}: copy of {} bytes from {} to {}; a copy is in blocks of {} bytes, at most {}, and crosses "
      "no end of a zone",
      name, length, from.value, to.value, g.block_size, g.max_copy_bytes));
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

Status CopyByHost(ZonedDevice& device, DeviceOffset from, DeviceOffset to, std::uint64_t length) {
  ZENFS_RETURN_IF_ERROR(CheckCopy(device.name(), device.geometry(), from, to, length));
  AlignedBuffer buffer(length);
  buffer.Resize(length);
  ZENFS_RETURN_IF_ERROR(device.Read(from, buffer.Span()));
  return device.Write(to, buffer.View());
}

}  // namespace zenfs
