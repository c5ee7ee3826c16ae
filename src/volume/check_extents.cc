#include "volume/check_extents.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace zenfs {
namespace {

struct Placed {
  FileId file;
  Extent extent;
};

void CheckOne(CheckContext& context, const Placed& placed) {
  const Geometry& geometry = context.device.geometry();
  const Extent& extent = placed.extent;
  const auto complain = [&](std::optional<ZoneId> zone, std::string_view what) {
    const auto text = [&] {
      return fmt::format("{}: the extent at file offset {}, {} bytes at device byte {}, {}",
                         context.names.Describe(placed.file), extent.file_offset, extent.length,
                         extent.place.value, what);
    };
    context.Add(Severity::kError, text, zone, extent.place, placed.file);
  };
  if (extent.place.value >= geometry.size_bytes())
    return complain(std::nullopt, "lies beyond the end of the device");
  const ZoneId id = geometry.ZoneOf(extent.place);
  const ZoneInfo& zone = context.report[id.value];
  if (!IsMultiple(extent.place.value, geometry.block_size))
    complain(id, "does not begin on a block boundary");
  if (extent.length > zone.capacity) return complain(id, "reaches beyond the capacity of its zone");
  const std::uint64_t end = extent.place - zone.start + RoundUp(extent.length, geometry.block_size);
  if (end > zone.capacity) return complain(id, "reaches beyond the capacity of its zone");
  if (zone.condition == ZoneCondition::kOffline) return complain(id, "is lost: its zone is offline");
  if (end > zone.WrittenBytes()) complain(id, "reaches beyond the write pointer of its zone");
  const std::span<const ZoneId> metadata = context.metadata_zones;
  if (std::ranges::find(metadata, id) != metadata.end()) complain(id, "lies in a metadata zone");
  if (context.state.log_zones().contains(id)) complain(id, "lies in a log zone");
}

}  // namespace

void CheckExtents(CheckContext& context) {
  std::vector<Placed> all;
  for (const auto& [id, record] : context.state.files()) {
    for (const Extent& extent : record->extents) all.push_back({id, extent});
  }
  std::ranges::sort(all, {}, [](const Placed& p) { return p.extent.place; });
  const std::uint32_t block = context.device.geometry().block_size;
  std::uint64_t occupied_to = 0;
  FileId occupier;
  for (const Placed& placed : all) {
    CheckOne(context, placed);
    if (placed.extent.place.value < occupied_to) {
      const auto text = [&] {
        return fmt::format("{}: the extent at file offset {} overlaps one of {}",
                           context.names.Describe(placed.file), placed.extent.file_offset,
                           context.names.Describe(occupier));
      };
      context.Add(Severity::kError, text, context.device.geometry().ZoneOf(placed.extent.place),
                  placed.extent.place, placed.file);
    }
    const std::uint64_t end = RoundUp(placed.extent.place.value + placed.extent.length, block);
    if (end > occupied_to) occupier = placed.file;
    occupied_to = std::max(occupied_to, end);
    context.out.data_bytes += RoundUp(placed.extent.length, block);
  }
  context.out.extents = all.size();
}

}  // namespace zenfs
