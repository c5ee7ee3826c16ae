#include "volume/buffer_recovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/frame_time.h"
#include "volume/file_names.h"
#include "volume/waiting_bytes.h"

namespace zenfs {
namespace {

// A log zone is reset without a check for extents in it.
Status CheckNotInLogZones(std::span<const Edit> edits, const State& state, const Geometry& geometry) {
  for (const Edit& edit : edits) {
    for (const Extent& extent : std::get<SetExtents>(edit).extents) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      if (!state.log_zones().contains(zone)) continue;
      return Fail(Code::kCorruption, fmt::format("an extent at device byte {} lies in log zone {}",
                                                 extent.place.value, zone.value));
    }
  }
  return {};
}

}  // namespace

Result<BufferRecovery> BufferRecovery::Open(MountedDevice& device, const State& state) {
  BufferRecovery orphans(device);
  const WhoseBuffers whose = BuffersOf(state, device.superblock.uuid, *device.device);
  orphans.owners_ = whose.owners;
  Result<OrphanedBuffers> left = OpenOrphanedBuffers(whose);
  if (!left && !device.options.discard_unsynced) return Fail(left.error().With(device.name));
  if (!left) {
    device.notices.push_back(
        fmt::format("flushed bytes that were not synced were discarded: {}", left.error().ToString()));
    return orphans;
  }
  if (device.options.discard_unsynced) {
    if (!left->pieces.empty()) {
      device.notices.push_back("flushed bytes that were not synced were discarded (discard_unsynced)");
    }
    left->pieces.clear();
  }
  if (!left->notice.empty()) device.notices.push_back(left->notice);
  orphans.left_ = *std::move(left);
  return orphans;
}

Result<std::optional<State>> BufferRecovery::CommitExtents(Metalog& metalog, const State& state,
                                                           const KnownZones& zones) const {
  std::vector<Edit> edits;
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto record = piece.uncommitted ? state.FindFile(piece.owner) : nullptr;
    if (record == nullptr || record->shape != FileShape::kPlain || piece.end() <= record->size) continue;
    const auto is_there = [&](const Extent& extent) {
      return StandsOnDevice(*device_->device, zones.report, extent);
    };
    // If the device has lost some of them, ReplayPiece finds a gap and reports it.
    if (std::ranges::all_of(piece.uncommitted->extents, is_there)) edits.emplace_back(*piece.uncommitted);
  }
  if (edits.empty()) return std::nullopt;
  State extended = state;
  Status sound = extended.Apply(edits);
  if (sound.ok()) sound = CheckPlaces(extended, zones, device_->name);
  if (sound.ok()) sound = CheckNotInLogZones(edits, state, device_->geometry);
  if (const auto flaws = sound.ok() ? extended.Flaws() : std::vector<StateFlaw>(); !flaws.empty()) {
    sound = Fail(Code::kCorruption, flaws.front().text);
  }
  if (!sound.ok()) {
    return Fail(
        sound.error().With(fmt::format("{}: extents that were flushed and not synced, from {} (mount with "
                                       "discard_unsynced to discard them)",
                                       device_->name, left_.memory.path())));
  }
  ZENFS_RETURN_IF_ERROR(metalog.Commit(std::move(edits), {.data_since = FlushMark::AtOpen()}));
  return extended;
}

std::set<FileId> BufferRecovery::PlainFiles(const State& state) const {
  std::set<FileId> files;
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto record = state.FindFile(piece.owner);
    if (record == nullptr || record->shape != FileShape::kPlain) continue;
    if (piece.end() > record->size) files.insert(piece.owner);
  }
  return files;
}

Status BufferRecovery::Replay(const State& state, LogSpace& log, RecoveredLogs& logs,
                              std::vector<ZonePin>& pins) {
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto replayed = logs.find(piece.owner);
    // The file was deleted, was never durable and so never flushed, or its bytes were committed since.
    if (replayed == logs.end()) continue;
    const Status brought = ReplayPiece(state, piece, log, replayed->second, pins);
    if (!brought.ok()) {
      return Fail(brought.error().With(
          fmt::format("{}: recovering bytes that were flushed and not synced, from {} (mount with "
                      "discard_unsynced to discard them)",
                      device_->name, left_.memory.path())));
    }
  }
  return {};
}

Status BufferRecovery::ReplayPiece(const State& state, const OrphanedBytes& piece, LogSpace& log,
                                   ReplayedLog& replayed, std::vector<ZonePin>& pins) {
  const std::uint64_t have = replayed.index.end();
  if (piece.end() <= have) return {};  // they reached the device before the process died
  if (piece.file_offset > have) {      // they were in the device's cache and were lost with the power
    device_->notices.push_back(
        fmt::format("{}: the device has lost bytes {} to {}, which were flushed and not synced; the {} bytes "
                    "after them are lost too",
                    FileNames(state).Describe(piece.owner), have, piece.file_offset, piece.bytes.size()));
    return {};
  }
  const ByteView bytes = piece.bytes.subspan(have - piece.file_offset);
  AlignedBuffer frame(RoundUp(kFrameHeaderBytes + bytes.size(), device_->geometry.block_size));
  frame.Resize(kFrameHeaderBytes);
  frame.Append(bytes);
  LogWindow window =
      replayed.open_window.value_or(LogWindow{.epoch = state.epoch(),
                                              .first_sequence = state.FindFile(piece.owner)->next_sequence,
                                              .last_sequence = 0,
                                              .end = have});
  const std::uint64_t sequence = replayed.open_window ? window.last_sequence + 1 : window.first_sequence;
  const std::uint16_t time =
      piece.appended_seconds == 0 ? 0 : EncodeFrameTime(piece.appended_seconds, replayed.mtime_seconds);
  ZENFS_ASSIGN_OR_RETURN(std::vector<PlacedFrame> placed, log.writer().Write({.owner = piece.owner.value,
                                                                              .sequence = sequence,
                                                                              .file_offset = have,
                                                                              .buffer = &frame,
                                                                              .epoch = state.epoch(),
                                                                              .time = time}));
  for (PlacedFrame& part : placed) {
    const ZoneId zone = part.pin.zone();
    replayed.index.Append(part.ToPiece());
    replayed.zones[zone] += part.device_bytes;
    // OpenLogs counts it again, with all frames of the file.
    log.zones().RemoveLive(zone, {part.device_bytes, part.length});
    pins.push_back(std::move(part.pin));
    window.last_sequence = part.sequence;
  }
  window.end = replayed.index.end();
  replayed.open_window = window;
  replayed.mtime_seconds = DecodeFrameTime(time, replayed.mtime_seconds).value_or(replayed.mtime_seconds);
  return {};
}

void BufferRecovery::Remove(const AppendBuffers& present) {
  if (left_.memory.valid()) IgnoreError(left_.memory.Unlink());  // after an error a later mount removes it
  left_ = OrphanedBuffers();
  if (present.area() == nullptr) return;
  SweepOrphanedBuffers(present.directory(), device_->device->identity(), present.path(), owners_);
}

}  // namespace zenfs
