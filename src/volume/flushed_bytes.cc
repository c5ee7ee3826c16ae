#include "volume/flushed_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/assert.h"
#include "base/boot_id.h"
#include "base/counted.h"
#include "base/sync_point.h"
#include "buffers/buffer_area_place.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/places.h"

namespace zenfs {

WhoseBuffers BuffersOf(const State& state, const Uuid& volume, const ZonedDevice& device) {
  const SetBufferPlace& buffers = state.buffers();
  WhoseBuffers whose{.place = buffers.place,
                     .identity = device.identity(),
                     .volume = volume,
                     .epoch = state.epoch(),
                     .boot = BootId(),
                     .key = buffers.key};
  if (const auto owner = device.owner()) whose.owners.push_back(owner->user);
  if (!buffers.key.empty()) whose.owners.push_back(buffers.maker);
  return whose;
}

WaitingBytes CountWaitingBytes(const LiveBuffers& buffers,
                               const std::function<std::optional<std::uint64_t>(FileId)>& size_of) {
  std::uint64_t bytes = 0;
  std::set<FileId> files;
  for (const auto& [piece, slot, control, opened, memory] : buffers.pieces()) {
    const std::optional<std::uint64_t> have = size_of(piece.owner);
    if (!have || piece.end() <= *have || piece.IsStale(*have)) continue;
    bytes += piece.end() - (piece.uncommitted ? *have : std::max(*have, piece.file_offset));
    files.insert(piece.owner);
  }
  return {.bytes = bytes, .files = files.size()};
}

std::string DescribeWaitingBytes(const LiveBuffers& buffers,
                                 const std::function<std::optional<std::uint64_t>(FileId)>& size_of) {
  const WaitingBytes waiting = CountWaitingBytes(buffers, size_of);
  if (waiting.bytes == 0 || buffers.MakerLives()) return "";
  return fmt::format(
      "the last writer died: {} of {} that were flushed and not synced wait in {}; readers on this host show "
      "them, and the next read-write mount recovers them",
      Counted(waiting.bytes, "byte"), Counted(waiting.files, "file"), buffers.path());
}

std::string LostBeforeFlushedText(std::string_view file, std::uint64_t from, std::uint64_t to,
                                  std::uint64_t behind) {
  return fmt::format(
      "{}: the device has lost bytes {} to {}, which had been written to it and may have been synced; the {} "
      "after them, which were flushed, are lost too",
      file, from, to, Counted(behind, "byte"));
}

Status CheckFlushedExtents(const SetExtents& edit, const State& state, std::span<const ZoneId> metadata_zones,
                           const Geometry& geometry) {
  for (const Extent& extent : edit.extents) {
    if (LiesInOneZone(extent, geometry)) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      const bool metadata = std::ranges::find(metadata_zones, zone) != metadata_zones.end();
      if (!metadata && !state.log_zones().contains(zone)) continue;
    }
    return Fail(Code::kCorruption,
                fmt::format("file {}: a flushed extent at device byte {} is not in a zone of data",
                            edit.id.value, extent.place.value));
  }
  return {};
}

StateWithFlushed AddFlushedExtents(const State& committed, const LiveBuffers& buffers,
                                   std::span<const ZoneId> metadata_zones, ZonedDevice& device) {
  const Geometry& geometry = device.geometry();
  // If the device alone lost its power, the memory still names what the device has lost. A living writer's device did not.
  std::optional<std::vector<ZoneInfo>> report;
  const auto is_lost = [&](const Extent& extent) {
    if (buffers.MakerLives()) return false;
    if (!report) report = ReportAll(device).value_or(std::vector<ZoneInfo>());
    return report->size() == geometry.zone_count && !StandsOnDevice(device, *report, extent);
  };
  const FileNames names(committed);
  StateWithFlushed all{.state = committed, .extended = {}, .flaws = {}};
  const auto add_flaw = [&](FileId id, std::string text) {
    FileNames::Paths paths = names.PathsOf(id);
    all.flaws.insert_or_assign(
        id, Finding{.text = std::move(text), .paths = std::move(paths.whole), .more_paths = paths.others});
  };
  SumOfExtents sum;
  for (const FlushedBytes& flushed : buffers.pieces()) {
    const OrphanedBytes& piece = flushed.piece;
    const auto record = piece.uncommitted ? committed.FindFile(piece.owner) : nullptr;
    if (record == nullptr || record->shape != FileShape::kPlain || piece.end() <= record->size ||
        piece.IsStale(record->size)) {
      continue;
    }
    Status sound = CheckFlushedExtents(*piece.uncommitted, committed, metadata_zones, geometry);
    if (sound.ok()) sound = sum.Add(piece.uncommitted->extents, geometry);
    if (sound.ok() && std::ranges::any_of(piece.uncommitted->extents, is_lost)) {
      add_flaw(piece.owner, LostBeforeFlushedText(names.Describe(piece.owner), record->size,
                                                  piece.file_offset, piece.bytes.size()));
      continue;
    }
    // An error would make the state unusable, and another copy takes the time of all files.
    if (sound.ok()) {
      FileRecord extended = *record;
      sound = ApplyOnlyExtents(*piece.uncommitted, extended);
    }
    if (sound.ok()) {
      SyncPoint::Reach("AddFlushedExtents:apply");
      const Edit edit = *piece.uncommitted;
      [[maybe_unused]] const Status applied = all.state.Apply(std::span(&edit, 1));
      ZENFS_ASSERT(applied.ok());
      all.extended[piece.owner] = record;
    } else {
      add_flaw(piece.owner, fmt::format("{}: {}", buffers.path(), sound.error().ToString()));
    }
  }
  return all;
}

}  // namespace zenfs
