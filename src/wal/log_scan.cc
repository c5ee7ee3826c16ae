#include "wal/log_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/zeros.h"
#include "device/claimed_crcs.h"
#include "device/read_or_zeros.h"
#include "model/number_limits.h"
#include "wal/zone_window.h"

namespace zenfs {
namespace {

// The numbers of a volume never get so large that this skips its frames.
static_assert(kStateNumbersEnd == kNumbersEnd && kStateNumbersCredible == kCredibleEnd);

}  // namespace

bool IsPossible(const ScannedFrame& frame) {
  return frame.sequence != 0 && frame.stable_sequence < frame.sequence &&
         std::max({frame.sequence, frame.file_offset, frame.owner, frame.epoch}) < kNumbersEnd;
}

bool IsCredible(const ScannedFrame& frame) {
  return IsPossible(frame) &&
         std::max({frame.sequence, frame.file_offset, frame.owner, frame.epoch}) < kCredibleEnd;
}

std::uint64_t SyncBytes(const Geometry& geometry, const LogZone& zone, const ZoneInfo& info) {
  if (info.condition == ZoneCondition::kEmpty || info.condition == ZoneCondition::kOffline) return 0;
  const std::uint64_t bytes = std::max(zone.sync_bytes, info.random_area ? geometry.random_area_bytes : 0);
  return RoundDown(std::min(bytes, geometry.zone_size), geometry.block_size);
}

Status CheckSyncZonesReadable(const ZonedDevice& device, const std::map<ZoneId, LogZone>& zones) {
  if (!device.geometry().hides_unwritten) return {};
  for (const auto& [id, zone] : zones) {
    if (zone.sync_bytes == 0) continue;
    return Fail(
        Code::kNotSupported,
        fmt::format("{}: zone {} may hold synced bytes behind its write pointer, which cannot be read this "
                    "way; mount the volume once by nvme: or dev:, and unmount it",
                    device.name(), id.value));
  }
  return {};
}

std::uint64_t ScanLogZone(ZonedDevice& device, const Uuid& volume, const LogZone& zone, const ZoneInfo& info,
                          const std::function<void(const ScannedFrame&)>& found, std::uint64_t from,
                          const std::function<void(std::uint64_t, const ParsedFrame&)>& passed_over) {
  const std::uint32_t block = device.geometry().block_size;
  const std::uint64_t written = info.WrittenBytes();
  const std::uint64_t length =
      std::min(std::max(info.capacity, written), written + SyncBytes(device.geometry(), zone, info));
  const FrameSeed seed = FrameSeed::Of(volume, zone.zone, zone.generation, zone.salt);
  std::optional<ZoneWindow> window(std::in_place, device, info.start, from, length);
  ClaimedCrcs claimed_crcs(device, info.start);
  std::uint64_t behind_last = from;
  for (std::uint64_t at = from; at < window->end();) {
    const ParsedFrame frame = ScanFrame(
        seed, block, length - at, [&](std::uint64_t bytes) { return window->From(at, bytes); },
        [&](std::uint64_t bytes) { return claimed_crcs.Of(at + block, bytes); });
    if (!frame.valid()) {
      if (at >= window->end()) break;  // the zone can't be read any more
      if (passed_over) passed_over(at, frame);
      const bool zeros = IsZeros(window->From(at, block).first(block));
      const std::uint64_t hole = zeros ? device.KnownZeros(info.start + at, length - at) : 0;
      at += hole >= kScanStepBytes ? hole : block;
      if (hole >= kScanStepBytes) window.emplace(device, info.start, at, length);
      continue;
    }
    const std::uint64_t device_bytes = frame.header.BytesOnDevice(block);
    if (frame.header.kind == FrameKind::kLogData) {
      found({.owner = frame.header.owner,
             .epoch = frame.header.epoch,
             .sequence = frame.header.sequence,
             .file_offset = frame.header.file_offset,
             .stable_sequence = frame.header.stable_sequence,
             .time = frame.header.time,
             .length = frame.header.payload_bytes,
             .payload = info.start + at + frame.header.header_bytes,
             .device_bytes = device_bytes,
             .zone = zone.zone,
             .in_sync_block = at >= written});
    }
    at += device_bytes;
    behind_last = at;
  }
  return behind_last;
}

}  // namespace zenfs
