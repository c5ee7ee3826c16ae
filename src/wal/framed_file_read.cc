// Reading a framed file: buffered bytes under the lock, the rest from the device without it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "wal/framed_file.h"

namespace zenfs {
namespace {

// Frames that stand one behind the other are read in one command, headers and padding included.
constexpr std::uint64_t kSpanBytesMax = 1 << 20;
constexpr std::uint64_t kGapBytesMax = 16 << 10;

}  // namespace

void FramedFile::CopyBuffered(const StagedBuffer& buffer, std::uint64_t offset, ByteSpan into) {
  if (buffer.empty()) return;
  const std::uint64_t from = std::max(offset, buffer.file_offset());
  const std::uint64_t to = std::min(offset + into.size(), buffer.end());
  if (from >= to) return;
  std::memcpy(into.data() + (from - offset), buffer.payload().data() + (from - buffer.file_offset()),
              to - from);
}

Status FramedFile::PlanRead(std::uint64_t offset, ByteSpan into, ReadPlan& plan) const {
  const std::uint64_t size = SizeLocked();
  if (offset >= size || into.empty()) return {};
  plan.total = std::min<std::uint64_t>(into.size(), size - offset);
  into = into.first(plan.total);
  const std::uint64_t end = offset + plan.total;
  for (std::size_t i = index_.Find(offset); i < index_.size() && index_[i].file_offset < end; ++i) {
    const Piece& piece = index_[i];
    const std::uint64_t from = std::max(offset, piece.file_offset);
    const std::uint64_t to = std::min(end, piece.end());
    if (piece.damaged) {
      return Fail(Code::kCorruption, fmt::format("file {}: bytes {} to {} of its log are lost", id_.value,
                                                 piece.file_offset, piece.end()));
    }
    plan.parts.push_back({piece.place + (from - piece.file_offset), into.subspan(from - offset, to - from)});
    const ZoneId zone = env_.device->geometry().ZoneOf(piece.place);
    if (plan.pins.empty() || plan.pins.back().zone() != zone) plan.pins.push_back(zones_.at(zone).pin);
  }
  CopyBuffered(flight_, offset, into);
  CopyBuffered(active_, offset, into);
  return {};
}

Result<std::size_t> FramedFile::Read(std::uint64_t offset, ByteSpan into) const {
  ReadPlan plan;
  {
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(PlanRead(offset, into, plan));
  }
  const Geometry& geometry = env_.device->geometry();
  AlignedBuffer span;
  std::uint64_t span_bytes_max = kSpanBytesMax;
  for (std::size_t first = 0; first < plan.parts.size();) {
    const std::uint64_t begin = RoundDown(plan.parts[first].place.value, geometry.block_size);
    const ZoneId zone = geometry.ZoneOf(plan.parts[first].place);
    std::uint64_t end = begin;
    std::size_t last = first;
    for (; last < plan.parts.size(); ++last) {
      const ReadPlan::Part& part = plan.parts[last];
      const std::uint64_t part_end = RoundUp(part.place.value + part.into.size(), geometry.block_size);
      if (last > first && (part.place.value < end - std::min<std::uint64_t>(end, geometry.block_size) ||
                           part.place.value > end + kGapBytesMax || part_end - begin > span_bytes_max ||
                           geometry.ZoneOf(part.place) != zone)) {
        break;
      }
      end = std::max(end, part_end);
    }
    if (span.capacity() < end - begin) span = AlignedBuffer(end - begin);
    span.Resize(end - begin);
    if (const Status read = env_.device->Read(DeviceOffset(begin), span.Span()); !read) {
      // A block between two frames of this file may be another's, lost with power: read without the gaps.
      if (last - first == 1) return Fail(read.error().With(fmt::format("file {}", id_.value)));
      span_bytes_max = 0;
      continue;
    }
    for (; first < last; ++first) {
      const ReadPlan::Part& part = plan.parts[first];
      std::memcpy(part.into.data(), span.data() + (part.place.value - begin), part.into.size());
    }
  }
  return plan.total;
}

}  // namespace zenfs
