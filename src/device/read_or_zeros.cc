#include "device/read_or_zeros.h"

#include <algorithm>

#include "base/random.h"
#include "device/presence.h"

namespace zenfs {

ScanRead ReadBlocksOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into,
                           UnreadableBlock unreadable) {
  const std::uint32_t block = device.geometry().block_size;
  std::ranges::fill(into, std::byte{0});
  const auto none = [&] {
    return ScanRead{.unreadable = static_cast<std::uint32_t>(into.size() / block), .zone_is_gone = true};
  };
  const PresenceMark mark = PresenceMark::Now(device);
  // An error of the report proves nothing: after a short fault of the device the bytes are there again.
  const Result<ZoneInfo> zone = device.ReportZone(device.geometry().ZoneOf(offset));
  if (zone && zone->condition == ZoneCondition::kOffline) return none();
  ScanRead done;
  for (std::uint64_t at = 0; at < into.size();) {
    if (const std::uint64_t zeros = device.KnownZeros(offset + at, into.size() - at); zeros != 0) {
      at += zeros;
      continue;
    }
    const ByteSpan one = into.subspan(at, block);
    if (!device.Read(offset + at, one).ok()) {
      if (unreadable == UnreadableBlock::kZeros) {
        std::ranges::fill(one, std::byte{0});
      } else {
        Random((offset + at).value).Fill(one);
      }
      ++done.unreadable;
      if (!mark.Check(device).ok()) return none();
    }
    at += block;
  }
  return done;
}

ScanRead ReadOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into, UnreadableBlock unreadable) {
  return device.Read(offset, into).ok() ? ScanRead() : ReadBlocksOrZeros(device, offset, into, unreadable);
}

std::uint64_t WorthReading(ZonedDevice& device, DeviceOffset from, std::uint64_t bytes) {
  std::uint64_t worth = std::min(bytes, kScanStepBytes);
  while (worth < bytes && device.KnownZeros(from + worth, device.geometry().block_size) == 0)
    worth = std::min(bytes, worth + kScanStepBytes);
  return worth;
}

}  // namespace zenfs
