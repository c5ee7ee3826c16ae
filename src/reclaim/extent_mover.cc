#include "reclaim/extent_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/sync_point.h"
#include "file/extent_list.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;
// An extent of at most this length is read once and kept in memory until it is moved; longer ones are read twice.
constexpr std::uint64_t kWindowBytes = 8 << 20;
// A drive takes one write after the other, so a sync waits for a copy that was sent before it: 0.1 ms with these, 0.9 ms with
// whole pieces, at 1.1 GiB a second.
constexpr std::uint64_t kWriteBytes = 128 << 10;
// Limits the size of a commit if extents are small.
constexpr std::size_t kExtentsACommit = 256;
constexpr std::chrono::seconds kWaitForZone{5};
// In both copies of the metadata log: an extent has up to 31 bytes, on most devices 15, and 5 for its checksum.
constexpr std::uint64_t kRestatedBytesAnExtent = 40;

bool Holds(const std::vector<Extent>& extents, const Extent& front) {
  const auto it = FindExtent(extents, front.file_offset);
  return it != extents.end() && it->file_offset == front.file_offset && it->place == front.place &&
         it->length >= front.length;
}

bool Follows(const Extent& extent, DeviceOffset place, const Geometry& geometry) {
  return extent.place + extent.length == place && geometry.ZoneOf(extent.place) == geometry.ZoneOf(place);
}

}  // namespace

ExtentMover::ExtentMover(ZonedDevice& device, ZoneManager& zones, ExtentSink& sink, MovableFiles& files,
                         bool device_copy)
    : device_(device),
      zones_(zones),
      sink_(sink),
      files_(files),
      longest_copy_(device_copy ? std::min(device.geometry().max_copy_bytes, kWriteBytes) : 0),
      piece_{.capacity = kPieceBytes},
      check_{.capacity = kPieceBytes},
      window_{.capacity = kWindowBytes} {}

Status ExtentMover::MoveOut(ZoneId zone, const Pause& pause) {
  const ZonePin pin = zones_.reclaim().PinVictim(zone);  // prevents a reset while the zone is read
  if (!pin.valid()) return {};
  Status busy, damaged;
  for (const std::shared_ptr<const FileRecord>& file : files_.FilesIn(zone)) {
    const Status moved = MoveFile(*file, zone, pause);
    if (moved.ok()) continue;
    switch (moved.error().code()) {
      case Code::kBusy: busy = moved; break;  // the other files can still be moved
      case Code::kCorruption:
        damaged = Fail(moved.error().With(fmt::format("file {} stays where it is", file->id.value)));
        break;
      default: return moved;
    }
  }
  return damaged.ok() ? busy : damaged;
}

Status ExtentMover::MoveFile(FileRecord file, ZoneId zone, const Pause& pause) {
  sums_.clear();
  for (;;) {
    Copy copy = NextCopy(file, zone);
    if (copy.from.empty()) return {};
    ZENFS_RETURN_IF_ERROR(files_.CheckRoomForExtents(file.extents.size() + copy.from.size()));
    const auto begins = FindExtent(file.extents, copy.from.front().file_offset);
    if (begins->length > kPieceBytes && !sums_.contains(begins->file_offset)) {
      ZENFS_RETURN_IF_ERROR(SumPieces(*begins, pause));
    }
    ZENFS_ASSIGN_OR_RETURN(file.extents, MoveCopy(file, copy, pause));
  }
}

// Returns the next piece: extents in the zone, or the front of an extent that is longer than a piece.
ExtentMover::Copy ExtentMover::NextCopy(const FileRecord& file, ZoneId zone) const {
  const Geometry& geometry = device_.geometry();
  Copy copy;
  std::uint64_t bytes = 0;
  for (Extent extent : file.extents) {
    if (geometry.ZoneOf(extent.place) != zone) continue;
    if (bytes != 0 && (bytes + extent.length > kPieceBytes || copy.from.size() == kExtentsACommit)) break;
    if (extent.length > kPieceBytes) {
      extent.length = kPieceBytes;
      extent.crc.reset();
    }
    bytes += extent.length;
    copy.from.push_back(extent);
  }
  return copy;
}

Result<std::vector<Extent>> ExtentMover::MoveCopy(const FileRecord& file, Copy& copy, const Pause& pause) {
  ZENFS_RETURN_IF_ERROR(CheckNotStopped());
  const auto check = [&](const FileRecord& now) -> Status {
    for (const Extent& front : copy.from) {
      if (Holds(now.extents, front)) continue;
      return Fail(Code::kBusy, fmt::format("file {}: changed while it was moved", now.id.value));
    }
    return {};
  };
  const SteadyTime begin = SteadyNow();
  ZENFS_RETURN_IF_ERROR(files_.WithFile(file.id, check));
  for (Extent& front : copy.from) {
    ZENFS_ASSIGN_OR_RETURN(const bool copied, CopyInside(front, file.lifetime, copy));
    if (copied) continue;
    ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, ReadFront(file, front));
    ZENFS_RETURN_IF_ERROR(CopyFront(front, bytes, file.lifetime, copy));
  }
  const SteadyTime copied = SteadyNow();
  if (pause) pause(copied - begin);
  SyncPoint::Reach("reclaim:copied");
  const SteadyTime commits = SteadyNow();
  std::vector<Extent> extents;
  const Status committed = files_.WithFile(file.id, [&](const FileRecord& now) -> Status {
    ZENFS_RETURN_IF_ERROR(check(now));
    MovedExtents moved = ReplaceExtents(now, copy.from, copy.to, device_.geometry());
    ZENFS_RETURN_IF_ERROR(files_.CommitMoved({std::move(moved.edit)}));
    extents = std::move(moved.all);
    if (files_.NoteMoved(now, extents)) return {};
    return Fail(Code::kBusy, fmt::format("file {}: was written to while it was moved", now.id.value));
  });
  if (!committed.ok()) return Fail(committed.error());
  // The commit of a file with very many extents may take longer than the copy.
  if (const auto longer = (SteadyNow() - commits) - (copied - begin); pause && longer.count() > 0)
    pause(longer);
  return extents;
}

Status ExtentMover::CheckNotStopped() const {
  if (!stopped_.load(std::memory_order_relaxed)) return {};
  return Fail(Code::kShutdown, device_.name() + ": is being unmounted");
}

Status ExtentMover::SumPieces(const Extent& extent, const Pause& pause) {
  const bool fits = extent.length <= kWindowBytes;
  Buffer& buffer = fits ? window_ : piece_;
  std::uint32_t whole = 0;
  for (std::uint64_t at = 0; at < extent.length; at += kPieceBytes) {
    ZENFS_RETURN_IF_ERROR(CheckNotStopped());
    const SteadyTime begin = SteadyNow();
    const std::uint64_t length = std::min(kPieceBytes, extent.length - at);
    const std::uint64_t in_buffer = fits ? at : 0;
    ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, Read(buffer, in_buffer, extent.place + at, length));
    const std::uint32_t crc = Crc32c(bytes.first(length));
    whole = Crc32cWhole(whole, crc, length);
    sums_[extent.file_offset + at] = {length, crc};
    if (pause) pause(SteadyNow() - begin);
  }
  window_begin_ = fits ? std::optional(extent.place) : std::nullopt;
  window_bytes_ = extent.length;
  return whole == extent.crc.value_or(whole) ? Status() : NotMoved(extent);
}

// Returns the verified bytes of `front` in whole blocks, with the padding of the last block, and sets the checksum of
// `front`.
Result<ByteView> ExtentMover::ReadFront(const FileRecord& file, Extent& front) {
  const KnownCrc expected = SumOf(front);
  if (FindSum(front) != nullptr && window_begin_ && front.place.value >= window_begin_->value &&
      front.place.value + front.length <= window_begin_->value + window_bytes_) {
    front.crc = expected;
    return window_.memory.View(front.place - *window_begin_,
                               RoundUp(front.length, device_.geometry().block_size));
  }
  ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, Read(piece_, 0, front.place, front.length));
  front.crc = Crc32c(bytes.first(front.length));
  if (expected && *expected != *front.crc)
    return Fail(NotMoved(*FindExtent(file.extents, front.file_offset)).error());
  return bytes;
}

// Reads whole blocks to `buffer` from byte `at` on.
Result<ByteView> ExtentMover::Read(Buffer& buffer, std::uint64_t at, DeviceOffset place,
                                   std::uint64_t length) {
  const std::uint64_t bytes = RoundUp(length, device_.geometry().block_size);
  if (buffer.memory.capacity() < buffer.capacity) buffer.memory = AlignedBuffer(buffer.capacity);
  ZENFS_RETURN_IF_ERROR(device_.Read(place, buffer.memory.Whole().subspan(at, bytes)));
  return buffer.memory.View(at, bytes);
}

const ExtentMover::Sum* ExtentMover::FindSum(const Extent& front) const {
  const auto sum = sums_.find(front.file_offset);
  return sum != sums_.end() && sum->second.length == front.length ? &sum->second : nullptr;
}

KnownCrc ExtentMover::SumOf(const Extent& front) const {
  const Sum* const sum = FindSum(front);
  return sum != nullptr ? KnownCrc(sum->crc) : front.crc;
}

// Copies `front` inside the device and compares the checksum of the copy. Returns false if the host must copy: the checksum is
// not known, the device does not copy, or the copy is not what it should be, and then reading tells whether the source is
// damaged or the device can't be trusted with this.
Result<bool> ExtentMover::CopyInside(Extent& front, Lifetime lifetime, Copy& copy) {
  const KnownCrc expected = SumOf(front);
  if (longest_copy_ == 0 || !expected) return false;
  const std::size_t first = copy.to.size();
  const std::uint64_t bytes = RoundUp(front.length, device_.geometry().block_size);
  const Status placed = Place(front, copy, [&](std::uint64_t done) {
    return sink_.Copy(CursorFor(lifetime), lifetime, front.place + done,
                      std::min(longest_copy_, bytes - done), Deadline::After(kWaitForZone));
  });
  if (!placed.ok() && placed.error().code() == Code::kNotSupported) return LeaveToHost(first, copy);
  if (!placed.ok()) return Fail(placed.error());
  std::uint32_t sum = 0;
  for (Extent& to : std::span(copy.to).subspan(first)) {
    ZENFS_ASSIGN_OR_RETURN(const ByteView copied, Read(check_, 0, to.place, to.length));
    to.crc = Crc32c(copied.first(to.length));
    sum = Crc32cWhole(sum, *to.crc, to.length);
  }
  if (sum != *expected) return LeaveToHost(first, copy);
  front.crc = expected;
  return true;
}

// What was copied of the front is garbage. The host copies from now on.
bool ExtentMover::LeaveToHost(std::size_t first, Copy& copy) {
  longest_copy_ = 0;
  copy.to.resize(first);
  return false;
}

// Adds to `copy` what `send` writes of the front from a byte on, until all is written.
Status ExtentMover::Place(const Extent& front, Copy& copy, const Send& send) {
  const std::size_t first = copy.to.size();
  for (std::uint64_t done = 0; done < front.length;) {
    ZENFS_ASSIGN_OR_RETURN(ExtentSink::Placed placed, send(done));
    const std::uint64_t length = std::min(placed.length, front.length - done);
    if (copy.to.size() != first && Follows(copy.to.back(), placed.place, device_.geometry())) {
      copy.to.back().length += length;
    } else {
      copy.to.push_back({front.file_offset + done, placed.place, length});
    }
    copy.pins.push_back(std::move(placed.pin));
    done += placed.length;
  }
  return {};
}

Status ExtentMover::CopyFront(const Extent& front, ByteView bytes, Lifetime lifetime, Copy& copy) {
  const std::size_t first = copy.to.size();
  ZENFS_RETURN_IF_ERROR(Place(front, copy, [&](std::uint64_t done) {
    const ByteView part = bytes.subspan(done, std::min<std::uint64_t>(kWriteBytes, bytes.size() - done));
    return sink_.Write(CursorFor(lifetime), lifetime, {&part, 1}, Deadline::After(kWaitForZone));
  }));
  for (Extent& to : std::span(copy.to).subspan(first)) {
    const ByteView written = bytes.subspan(to.file_offset - front.file_offset);
    // The checksum is known unless the end of a zone divided the copy.
    to.crc = to.length == front.length ? front.crc : Crc32c(written.first(to.length));
    ZENFS_RETURN_IF_ERROR(Verify(to.place, written.first(RoundUp(to.length, device_.geometry().block_size))));
  }
  return {};
}

Status ExtentMover::Verify(DeviceOffset place, ByteView written) {
  ZENFS_ASSIGN_OR_RETURN(const ByteView copy, Read(check_, 0, place, written.size()));
  if (std::memcmp(copy.data(), written.data(), written.size()) == 0) return {};
  const Geometry& geometry = device_.geometry();
  const ZoneId zone = geometry.ZoneOf(place);
  return Fail(Code::kCorruption,
              fmt::format("{}: zone {} at byte {}: {} bytes that were moved there read back differently; the "
                          "original stays in use",
                          device_.name(), zone.value, place - geometry.ZoneStart(zone), written.size()));
}

std::uint64_t RestatedBytes(const FileRecord& file, ZoneId zone, const Geometry& geometry) {
  std::uint64_t restated = 0;  // extents
  std::uint64_t bytes = 0;     // of the present piece
  std::size_t extents = 0;
  for (std::size_t i = 0; i < file.extents.size(); ++i) {
    const Extent& extent = file.extents[i];
    if (geometry.ZoneOf(extent.place) != zone) continue;
    const bool begins = extents == 0 || bytes + extent.length > kPieceBytes || extents == kExtentsACommit;
    if (begins) bytes = extents = 0;
    const std::uint64_t pieces = std::max<std::uint64_t>((extent.length + kPieceBytes - 1) / kPieceBytes, 1);
    restated += (begins ? pieces : 0) * (file.extents.size() - i);
    bytes += extent.length;
    ++extents;
  }
  return restated * kRestatedBytesAnExtent;
}

MovedExtents ReplaceExtents(const FileRecord& file, const std::vector<Extent>& from,
                            const std::vector<Extent>& to, const Geometry& geometry) {
  MovedExtents moved;
  auto copy = to.begin();
  auto original = from.begin();
  for (const Extent& extent : file.extents) {
    if (original == from.end() || extent.file_offset != original->file_offset) {
      AppendExtent(moved.all, extent, geometry);
      continue;
    }
    while (copy != to.end() && copy->file_offset < original->end())
      AppendExtent(moved.all, *copy++, geometry);
    if (const std::uint64_t left = extent.length - original->length; left != 0) {
      Extent rest{original->end(), extent.place + original->length, left};
      if (extent.crc && original->crc) rest.crc = Crc32cBack(*extent.crc, *original->crc, left);
      AppendExtent(moved.all, rest, geometry);
    }
    ++original;
  }
  ZENFS_ASSERT(original == from.end() && copy == to.end() && ExtentsEnd(moved.all) == file.ExtentsEnd());
  // The first copy may have been joined with the extent in front of it, so the edit begins with that extent.
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
