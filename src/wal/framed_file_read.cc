// Reading a framed file: buffered bytes under the lock, the rest from the device without it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "wal/framed_file.h"

namespace zenfs {

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
  // What is in both places after an error comes from the buffer.
  const std::uint64_t end = std::min(offset + plan.total, flight_.empty() ? size : flight_.file_offset());
  for (std::size_t i = index_.Find(offset); i < index_.size() && index_[i].file_offset < end; ++i) {
    const Piece& piece = index_[i];
    const std::uint64_t from = std::max(offset, piece.file_offset);
    const std::uint64_t to = std::min(end, piece.end());
    if (piece.damaged) {
      return Fail(Code::kCorruption, fmt::format("file {}: bytes {} to {} of its log are lost", id_.value,
                                                 piece.file_offset, piece.end()));
    }
    plan.parts.push_back({piece.place + (from - piece.file_offset), into.subspan(from - offset, to - from)});
    const ZoneId zone = deps_.device->geometry().ZoneOf(piece.place);
    if (plan.pins.empty() || plan.pins.back().zone() != zone) plan.pins.push_back(zones_.PinOf(zone));
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
  ZENFS_RETURN_IF_ERROR(ReadPieces(*deps_.device, id_, plan.parts));
  return plan.total;
}

}  // namespace zenfs
