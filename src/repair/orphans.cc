#include "repair/orphans.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/zeros.h"
#include "device/remembered_holes.h"
#include "repair/repair_names.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;

struct Range {
  std::uint64_t begin = 0;  // bytes from the start of the zone
  std::uint64_t end = 0;
};

// The parts of the range that are not known zeros.
std::vector<Range> PartsWithData(ZonedDevice& device, const ZoneInfo& zone, Range range) {
  std::vector<Range> parts;
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t zeros = device.KnownZeros(zone.start + at, range.end - at);
    const std::uint64_t end = std::min(range.end, at + (zeros != 0 ? zeros : kReadBytes));
    if (zeros == 0 && !parts.empty() && parts.back().end == at) {
      parts.back().end = end;
    } else if (zeros == 0) {
      parts.push_back({at, end});
    }
    at = end;
  }
  return parts;
}

// Returns the end of the last block that is not all zeros, `range.begin` if there is none. A block that can't be read counts as
// not all zeros.
std::uint64_t EndOfData(ZonedDevice& device, const ZoneInfo& zone, Range range) {
  const std::uint32_t block = device.geometry().block_size;
  AlignedBuffer buffer(std::max<std::uint64_t>(kReadBytes, block));
  std::vector<Range> parts = PartsWithData(device, zone, range);
  for (; !parts.empty(); parts.pop_back()) {
    Range part = parts.back();
    while (part.end > part.begin) {
      const std::uint64_t bytes = std::min<std::uint64_t>(buffer.capacity(), part.end - part.begin);
      const std::uint64_t from = part.end - bytes;
      buffer.Resize(bytes);
      if (!device.Read(zone.start + from, buffer.Span()).ok()) return part.end;
      for (std::uint64_t at = bytes; at > 0; at -= block) {
        if (!IsZeros(buffer.View(at - block, block))) return from + at;
      }
      part.end = from;
    }
  }
  return range.begin;
}

std::vector<Range> Uncovered(std::vector<Range> covered, std::uint64_t written) {
  std::ranges::sort(covered, {}, &Range::begin);
  covered.push_back({written, written});
  std::vector<Range> gaps;
  std::uint64_t at = 0;
  for (const Range& range : covered) {
    if (range.begin > at) gaps.push_back({at, range.begin});
    at = std::max(at, range.end);
  }
  return gaps;
}

}  // namespace

void RescueOrphans(StateDraft& draft, ZonedDevice& device, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones, Sentences& steps) {
  const Geometry& geometry = device.geometry();
  std::map<ZoneId, std::vector<Range>> covered;
  for (const auto& [id, file] : draft.files) {
    for (const Extent& extent : file.extents) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      const std::uint64_t begin = extent.place - geometry.ZoneStart(zone);
      covered[zone].push_back({begin, begin + RoundUp(extent.length, geometry.block_size)});
    }
  }
  RememberedHoles scanned(device);
  LostAndFound lost_and_found(draft);
  for (const ZoneInfo& zone : report) {
    const bool metadata = std::ranges::find(metadata_zones, zone.id) != metadata_zones.end();
    if (zone.type != ZoneType::kSequentialRequired || metadata || draft.log_zones.contains(zone.id)) continue;
    for (const Range& gap :
         Uncovered(covered[zone.id], RoundDown(zone.WrittenBytes(), geometry.block_size))) {
      const std::uint64_t end = EndOfData(scanned, zone, gap);
      if (end == gap.begin) continue;
      const std::uint64_t length = end - gap.begin;
      FileRecord file{.id = draft.NewId(), .size = length, .mtime_seconds = WallSeconds()};
      file.extents.push_back({.file_offset = 0, .place = zone.start + gap.begin, .length = length});
      const std::string path =
          lost_and_found.Put(std::move(file), fmt::format("zone-{}-{}", zone.id.value, gap.begin));
      steps.Add(fmt::format("put {} KiB of zone {} from byte {} on, which no file points to, at {}",
                            length / 1024, zone.id.value, gap.begin, path));
    }
  }
}

}  // namespace zenfs
