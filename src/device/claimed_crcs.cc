#include "device/claimed_crcs.h"

#include <algorithm>

#include "device/read_or_zeros.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;

}  // namespace

KnownCrc ClaimedCrcs::Of(std::uint64_t from, std::uint64_t length) {
  const std::uint64_t end = from + length;
  const bool claimed_before = from < claimed_end_;
  claimed_end_ = std::max(claimed_end_, end);
  if (!claimed_before && WorthReading(device_, zone_ + from, length) == length) return std::nullopt;
  if (from > end_.at || marks_.empty()) {
    marks_.clear();
    end_ = {.at = from};
  }
  while (marks_.size() > 1 && marks_[1].at <= from) marks_.pop_front();
  const std::uint64_t last_block = RoundDown(end, std::uint64_t{device_.geometry().block_size});
  ExtendTo(last_block);
  const std::uint32_t blocks = Crc32cBack(CrcBefore(last_block), CrcBefore(from), last_block - from);
  if (last_block == end) return blocks;
  return Crc32c(ReadAt(last_block, device_.geometry().block_size).first(end - last_block), blocks);
}

std::uint32_t ClaimedCrcs::CrcBefore(std::uint64_t at) const {
  if (at == end_.at) return end_.crc;
  const Mark& mark = *std::prev(std::ranges::upper_bound(marks_, at, {}, &Mark::at));
  return Crc32cOfZeros(at - mark.at, mark.crc);
}

void ClaimedCrcs::ExtendTo(std::uint64_t end) {
  const std::uint32_t block = device_.geometry().block_size;
  while (end_.at < end) {
    if (const std::uint64_t zeros = device_.KnownZeros(zone_ + end_.at, end - end_.at); zeros != 0) {
      marks_.push_back(end_);
      end_ = {.at = end_.at + zeros, .crc = Crc32cOfZeros(zeros, end_.crc)};
      continue;
    }
    const std::uint64_t piece = std::min(kPieceBytes, end - end_.at);
    for (ByteView rest = ReadAt(end_.at, WorthReading(device_, zone_ + end_.at, piece)); !rest.empty();
         rest = rest.subspan(block)) {
      marks_.push_back(end_);
      end_ = {.at = end_.at + block, .crc = Crc32c(rest.first(block), end_.crc)};
    }
  }
}

ByteView ClaimedCrcs::ReadAt(std::uint64_t at, std::uint64_t length) {
  if (buffer_.capacity() < length) buffer_ = AlignedBuffer(length);
  buffer_.Resize(length);
  // A frame with a block that is unreadable is not valid.
  (void)ReadOrZeros(device_, zone_ + at, buffer_.Span(), UnreadableBlock::kRandom);
  return buffer_.View();
}

}  // namespace zenfs
