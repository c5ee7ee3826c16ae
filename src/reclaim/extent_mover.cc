#include "reclaim/extent_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/sync_point.h"
#include "file/extent_list.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;
constexpr std::chrono::seconds kWaitForZone{5};

std::vector<Extent> ExtentsIn(const FileRecord& file, ZoneId zone, const Geometry& geometry) {
  std::vector<Extent> in;
  for (const Extent& extent : file.extents) {
    if (geometry.ZoneOf(extent.place) == zone) in.push_back(extent);
  }
  return in;
}

}  // namespace

Status ExtentMover::MoveOut(ZoneId zone, const Pause& pause) {
  const ZonePin pin = env_.zones->Pin(zone);  // not reset, and not used anew, while it is read
  Status busy, damaged;
  for (const std::shared_ptr<const FileRecord>& file : env_.files_in(zone)) {
    const Status moved = MoveFile(*file, zone, pause);
    if (moved) continue;
    switch (moved.error().code()) {
      case Code::kBusy: busy = moved; break;  // no reason not to empty the zone of the others
      case Code::kCorruption:
        damaged = Fail(moved.error().With(fmt::format("file {} stays where it is", file->id.value)));
        break;
      default: return moved;
    }
  }
  return damaged ? busy : damaged;
}

Status ExtentMover::MoveFile(const FileRecord& file, ZoneId zone, const Pause& pause) {
  const Geometry& geometry = env_.device->geometry();
  Copy copy{.from = ExtentsIn(file, zone, geometry), .to = {}, .pins = {}};
  ZENFS_RETURN_IF_ERROR(
      env_.with_file(file.id, [&](const FileRecord& now) { return CheckUnchanged(now, zone, copy.from); }));
  for (const Extent& extent : copy.from)
    ZENFS_RETURN_IF_ERROR(CopyExtent(extent, file.lifetime, copy, pause));
  SyncPoint::Reach("reclaim:copied");
  return env_.with_file(file.id, [&](const FileRecord& now) -> Status {
    ZENFS_RETURN_IF_ERROR(CheckUnchanged(now, zone, copy.from));
    MovedExtents moved = ReplaceExtents(now, copy.from, copy.to, geometry);
    ZENFS_RETURN_IF_ERROR(env_.commit({std::move(moved.edit)}));
    if (env_.moved(now, std::move(moved.all))) return {};
    return Fail(Code::kBusy, fmt::format("file {}: was written to while it was moved", now.id.value));
  });
}

Status ExtentMover::CheckUnchanged(const FileRecord& now, ZoneId zone,
                                   const std::vector<Extent>& from) const {
  if (ExtentsIn(now, zone, env_.device->geometry()) == from) return {};
  return Fail(Code::kBusy, fmt::format("file {}: changed while it was moved", now.id.value));
}

Status ExtentMover::CopyExtent(const Extent& extent, Lifetime lifetime, Copy& copy, const Pause& pause) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < extent.length;) {
    if (stopped_.load(std::memory_order_relaxed)) {
      return Fail(Code::kShutdown, env_.device->name() + ": is being unmounted");
    }
    const SteadyTime begin = SteadyNow();
    const std::uint64_t length = std::min(kPieceBytes, extent.length - done);
    ZENFS_RETURN_IF_ERROR(
        CopyPiece({extent.file_offset + done, extent.place + done, length}, lifetime, crc, copy));
    done += length;
    if (pause) pause(SteadyNow() - begin);
  }
  return crc == extent.crc.value_or(crc) ? Status() : Damaged(extent);
}

Status ExtentMover::Damaged(const Extent& extent) const {
  const Geometry& geometry = env_.device->geometry();
  const ZoneId zone = geometry.ZoneOf(extent.place);
  return Fail(
      Code::kCorruption,
      fmt::format("{}: zone {} at byte {}: the {} bytes there do not have the checksum with which they were "
                  "written; they are not moved",
                  env_.device->name(), zone.value, extent.place - geometry.ZoneStart(zone), extent.length));
}

// Whole blocks are copied, so the padding of a file's last block goes with it. `crc` goes on over the file's bytes.
Status ExtentMover::CopyPiece(const Extent& piece, Lifetime lifetime, std::uint32_t& crc, Copy& copy) {
  const Geometry& geometry = env_.device->geometry();
  if (piece_.capacity() < kPieceBytes) piece_ = AlignedBuffer(kPieceBytes);
  piece_.Resize(RoundUp(piece.length, geometry.block_size));
  ZENFS_RETURN_IF_ERROR(env_.device->Read(piece.place, piece_.Span()));
  for (std::uint64_t done = 0; done < piece.length;) {
    const ByteView rest = piece_.View().subspan(done);
    ZENFS_ASSIGN_OR_RETURN(ExtentSink::Placed placed,
                           env_.sink->Write(cursors_[static_cast<std::size_t>(lifetime)], lifetime,
                                            {&rest, 1}, Deadline::After(kWaitForZone)));
    ZENFS_RETURN_IF_ERROR(Verify(placed.place, rest.first(placed.length)));
    const std::uint64_t length = std::min(placed.length, piece.length - done);
    const std::uint32_t own = Crc32c(rest.first(length));
    crc = Crc32cWhole(crc, own, length);
    copy.to.push_back({piece.file_offset + done, placed.place, length, own});
    copy.pins.push_back(std::move(placed.pin));
    bytes_moved_.fetch_add(placed.length, std::memory_order_relaxed);
    done += placed.length;
  }
  return {};
}

Status ExtentMover::Verify(DeviceOffset place, ByteView written) {
  if (check_.capacity() < kPieceBytes) check_ = AlignedBuffer(kPieceBytes);
  check_.Resize(written.size());
  ZENFS_RETURN_IF_ERROR(env_.device->Read(place, check_.Span()));
  if (std::memcmp(check_.data(), written.data(), written.size()) == 0) return {};
  const Geometry& geometry = env_.device->geometry();
  const ZoneId zone = geometry.ZoneOf(place);
  return Fail(Code::kCorruption,
              fmt::format("{}: zone {} at byte {}: {} bytes that were moved there read back differently; the "
                          "original stays in use",
                          env_.device->name(), zone.value, place - geometry.ZoneStart(zone), written.size()));
}

MovedExtents ReplaceExtents(const FileRecord& file, const std::vector<Extent>& from,
                            const std::vector<Extent>& to, const Geometry& geometry) {
  MovedExtents moved;
  auto copy = to.begin();
  auto original = from.begin();
  for (const Extent& extent : file.extents) {
    if (original == from.end() || extent != *original) {
      AppendExtent(moved.all, extent, geometry);
      continue;
    }
    ++original;
    while (copy != to.end() && copy->file_offset < extent.end()) AppendExtent(moved.all, *copy++, geometry);
  }
  // What was in front of the first one may have been joined with it.
  std::uint64_t first = from.empty() ? 0 : from.front().file_offset;
  for (const Extent& extent : moved.all) {
    if (extent.file_offset < first && first < extent.end()) first = extent.file_offset;
  }
  moved.edit = SetExtents{.id = file.id,
                          .from_offset = first,
                          .extents = ClipExtents(moved.all, first, file.ExtentsEnd()),
                          .size = file.size,
                          .mtime_seconds = file.mtime_seconds};
  return moved;
}

}  // namespace zenfs
