#include "volume/mount/sync_block_recovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "wal/frame_read.h"

namespace zenfs {
namespace {

bool InSyncBlock(const Piece& piece) { return piece.in_sync_block; }

// Counts are by file and zone in `zones`; OpenLogs counts the new frame as live, with all frames of the file.
Status MovePiece(MountedDevice& device, LogSpace& log, FileId owner, Piece& piece, ReplayedLog& replayed,
                 std::vector<ZonePin>& pins) {
  const ZoneId old_zone = device.geometry.ZoneOf(piece.place);
  const std::optional<FrameSeed> seed = log.zones().SeedOf(old_zone);
  if (!seed) return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", old_zone.value));
  AlignedBuffer block(device.geometry.block_size);
  ZENFS_ASSIGN_OR_RETURN(const FrameHeader header, ReadSyncBlock(*device.device, *seed, owner, piece, block));
  ZENFS_ASSIGN_OR_RETURN(std::vector<PlacedFrame> placed,
                         log.writer().Write({.owner = owner.value,
                                             .sequence = header.sequence,
                                             .file_offset = header.file_offset,
                                             .stable_sequence = header.stable_sequence,
                                             .buffer = &block,
                                             .epoch = header.epoch,
                                             .time = header.time,
                                             .unsplit = true}));
  PlacedFrame& frame = placed.front();
  const ZoneId zone = frame.pin.zone();
  if ((replayed.zones[old_zone] -= piece.frame_bytes) == 0) replayed.zones.erase(old_zone);
  replayed.zones[zone] += frame.device_bytes;
  log.zones().RemoveLive(zone, {frame.device_bytes, frame.length});
  piece.place = frame.payload + (piece.file_offset - frame.file_offset);
  piece.frame_bytes = frame.device_bytes;
  piece.in_sync_block = false;
  piece.skipped = piece.file_offset - frame.file_offset;
  pins.push_back(std::move(frame.pin));
  return {};
}

}  // namespace

bool HasSyncBlocks(const RecoveredLogs& logs) {
  return std::ranges::any_of(
      logs, [](const auto& log) { return std::ranges::any_of(log.second.index.pieces(), InSyncBlock); });
}

Status MoveSyncBlocks(MountedDevice& device, LogSpace& log, RecoveredLogs& logs, std::vector<ZonePin>& pins) {
  for (auto& [id, replayed] : logs) {
    for (std::size_t i = 0; i < replayed.index.size(); ++i) {
      Piece piece = replayed.index[i];
      if (!InSyncBlock(piece)) continue;
      if (const Status moved = MovePiece(device, log, id, piece, replayed, pins); !moved.ok()) {
        return Fail(moved.error().With(
            fmt::format("{}: moving the last synced bytes of file {} into the log", device.name, id.value)));
      }
      replayed.index.Replace(i, piece);
    }
  }
  return {};
}

}  // namespace zenfs
