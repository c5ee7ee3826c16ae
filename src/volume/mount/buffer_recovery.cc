#include "volume/mount/buffer_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "format/buffer_area_layout.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/log_losses.h"
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
  std::erase_if(left->pieces, [&](const OrphanedBytes& piece) {
    const auto record = state.FindFile(piece.owner);
    return record != nullptr && record->shape == FileShape::kPlain && piece.IsStale(record->size);
  });
  if (!left->notice.empty()) device.notices.push_back(left->notice);
  orphans.left_ = *std::move(left);
  return orphans;
}

Result<std::optional<State>> BufferRecovery::CommitExtents(Metalog& metalog, const State& state,
                                                           const KnownZones& zones) const {
  std::vector<Edit> edits;
  SumOfExtents sum;
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto record = piece.uncommitted ? state.FindFile(piece.owner) : nullptr;
    if (record == nullptr || record->shape != FileShape::kPlain || piece.end() <= record->size) continue;
    if (const Status fits = sum.Add(piece.uncommitted->extents, device_->geometry); !fits.ok())
      return Fail(Unusable(fits.error()));
    const auto is_there = [&](const Extent& extent) {
      return StandsOnDevice(*device_->device, zones.report, extent);
    };
    // If the device has lost some of them, TakeOver finds a gap and reports it.
    if (std::ranges::all_of(piece.uncommitted->extents, is_there)) edits.emplace_back(*piece.uncommitted);
  }
  if (edits.empty()) return std::nullopt;
  State extended = state;
  Status sound = extended.Apply(edits);
  if (sound.ok()) sound = CheckPlaces(extended, zones, device_->name);
  if (sound.ok()) sound = CheckNotInLogZones(edits, state, device_->geometry);
  if (const auto flaws = sound.ok() ? extended.Check() : std::vector<std::string>(); !flaws.empty()) {
    sound = Fail(Code::kCorruption, flaws.front());
  }
  if (!sound.ok()) return Fail(Unusable(sound.error()));
  ZENFS_RETURN_IF_ERROR(metalog.Commit(std::move(edits), {.data_since = FlushMark::AtOpen()}));
  return extended;
}

Error BufferRecovery::Unusable(const Error& error) const {
  return error.With(
      fmt::format("{}: extents that were flushed and not synced, from {} (mount with "
                  "discard_unsynced to discard them)",
                  device_->name, left_.memory.path()));
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

AppendBuffers::Shape BufferRecovery::shape() const {
  AppendBuffers::Shape shape;
  for (const OrphanedBytes& piece : left_.pieces) {
    shape.slots += 1;
    shape.buffer_bytes = std::max(shape.buffer_bytes,
                                  RoundUp(kBufferAreaPayloadAt + piece.bytes.size(), kBufferAreaHeaderBytes));
  }
  return shape;
}

Status BufferRecovery::TakeOver(const State& state, const RecoveredLogs& logs, const AppendBuffers& present) {
  const FileNames names(state);
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto replayed = logs.find(piece.owner);
    // The file was deleted, was never durable and so never flushed, or its bytes were committed since.
    if (replayed == logs.end()) continue;
    const auto before = taken_over_.find(piece.owner);
    const std::uint64_t have =
        before == taken_over_.end() ? replayed->second.index.end() : before->second.second.end();
    if (piece.end() <= have) continue;  // they reached the device before the process died
    if (piece.file_offset > have) {     // the device has lost bytes: with its cache, or with an offline zone
      device_->notices.push_back(
          LostBeforeFlushedText(names.Describe(piece.owner), have, piece.file_offset, piece.bytes.size()));
      continue;
    }
    ZENFS_RETURN_IF_ERROR(TakeOverPiece(piece, have, present));
  }
  return {};
}

Status BufferRecovery::TakeOverPiece(const OrphanedBytes& piece, std::uint64_t have,
                                     const AppendBuffers& present) {
  FrameBuffers::TakenOver& taken_over = taken_over_[piece.owner];
  if (!taken_over.first.empty()) {
    return Fail(Code::kCorruption, fmt::format("{}: {} has more than two buffers of file {}", device_->name,
                                               left_.memory.path(), piece.owner.value));
  }
  // No mount may find the second part of a file's bytes without the first.
  const bool behind_private = !taken_over.second.empty() && !taken_over.second.in_slot();
  if (!taken_over.second.empty()) std::swap(taken_over.first, taken_over.second);
  AppendBuffer& buffer = taken_over.second;
  const ByteView bytes = piece.bytes.subspan(have - piece.file_offset);
  buffer.Begin(behind_private ? nullptr : present.area(),
               RoundUp(kBufferAreaPayloadAt + bytes.size(), device_->geometry.block_size), piece.owner.value,
               have);
  const std::size_t taken = buffer.Append(bytes, piece.appended_seconds);
  ZENFS_CHECK(taken == bytes.size(), "a buffer has less room than was asked for");
  taken_over.appended_seconds = piece.appended_seconds;
  needs_old_buffers_ = needs_old_buffers_ || !buffer.in_slot();
  return {};
}

std::set<FileId> BufferRecovery::TakenOver() const {
  std::set<FileId> files;
  for (const auto& [file, buffers] : taken_over_) files.insert(file);
  return files;
}

FrameBuffers::TakenOver BufferRecovery::BytesOf(FileId file) {
  const auto found = taken_over_.find(file);
  return found == taken_over_.end() ? FrameBuffers::TakenOver() : std::exchange(found->second, {});
}

Error BufferRecovery::NoRoom(const Error& cause) const {
  return cause.With(
      fmt::format("{}: bytes that were flushed and not synced wait in {}. Mount with flush_dir:DIRECTORY, a "
                  "tmpfs with room for {} bytes, "
                  "to keep them there until the device has room (or with discard_unsynced to discard them)",
                  device_->name, left_.memory.path(), shape().slots * shape().buffer_bytes));
}

void BufferRecovery::Remove(const AppendBuffers& present) {
  if (left_.memory.valid()) IgnoreError(left_.memory.Unlink());  // after an error a later mount removes it
  left_ = OrphanedBuffers();
  if (present.area() == nullptr) return;
  SweepOrphanedBuffers(present.directory(), device_->device->identity(), present.path(), owners_);
}

}  // namespace zenfs
