#include "metalog/zone_reader.h"

#include <algorithm>

#include "base/zeros.h"
#include "device/read_or_zeros.h"

namespace zenfs {
namespace {

// Less at first, because there may be little to see behind a hole.
constexpr std::uint64_t kFirstPiece = 16 << 10;
constexpr std::uint64_t kPiece = 1 << 20;

}  // namespace

ByteView ZoneReader::View(std::uint64_t offset, std::uint64_t at_least) {
  if (offset >= end_) return {};
  const std::uint64_t wanted = std::min(at_least, end_ - offset);
  const bool held = offset >= buffer_offset_ && offset + wanted <= buffer_offset_ + buffer_.size();
  if (!held) {
    const bool goes_on =
        !buffer_.empty() && buffer_offset_ <= offset && offset <= buffer_offset_ + buffer_.size();
    const std::uint64_t piece = goes_on ? next_bytes_ : kFirstPiece;
    next_bytes_ = std::min(2 * piece, kPiece);
    const std::uint64_t needed = RoundUp(wanted, device_.geometry().block_size);
    const DeviceOffset from = device_.geometry().ZoneStart(zone_) + offset;
    const std::uint64_t worth = WorthReading(device_, from, std::min(piece, end_ - offset));
    Fill(offset, std::min(std::max(needed, worth), end_ - offset));
  }
  const std::uint64_t skip = offset - buffer_offset_;
  return buffer_.View(skip, buffer_.size() - skip);
}

ParsedFrame ZoneReader::FrameAt(std::uint64_t offset, FrameSeed seed) {
  if (offset >= end_) return {};
  const std::uint32_t block = device_.geometry().block_size;
  return ScanFrame(
      seed, block, end_ - offset, [&](std::uint64_t bytes) { return View(offset, bytes); },
      [&](std::uint64_t bytes) { return claimed_crcs_.Of(offset + block, bytes); });
}

std::uint64_t ZoneReader::SkipZeros(std::uint64_t offset) {
  const std::uint32_t block = device_.geometry().block_size;
  if (offset >= end_ || !IsZeros(View(offset, block).first(block))) return std::min(offset, end_);
  return offset + device_.KnownZeros(device_.geometry().ZoneStart(zone_) + offset, end_ - offset);
}

void ZoneReader::Fill(std::uint64_t offset, std::uint64_t bytes) {
  if (buffer_.capacity() < bytes) buffer_ = AlignedBuffer(bytes);
  buffer_.Resize(bytes);
  buffer_offset_ = offset;
  const DeviceOffset from = device_.geometry().ZoneStart(zone_) + offset;
  const ScanRead read = ReadOrZeros(device_, from, buffer_.Span());
  if (read.unreadable != 0) met_unreadable_ = true;
  if (read.zone_is_gone) end_ = offset + bytes;
}

}  // namespace zenfs
