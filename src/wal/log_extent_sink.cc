#include "wal/log_extent_sink.h"

#include <algorithm>

namespace zenfs {
namespace {

constexpr std::uint64_t kFramePayloadMax = 1 << 20;

class LogExtentSink final : public ExtentSink {
 public:
  LogExtentSink(LogSpace& log, std::uint32_t block_size, WritePurpose purpose)
      : log_(log), block_(block_size), purpose_(purpose) {}

  Result<Placed> Write(SinkCursor&, Lifetime, std::span<const ByteView> pieces, Deadline) override {
    std::uint64_t total = 0;
    for (const ByteView piece : pieces) total += piece.size();
    total = std::min(total, kFramePayloadMax);
    // Up to the end of the zone; a stale hint costs a split, whose second part is written in vain.
    if (const std::uint64_t room = log_.room(); room > block_) total = std::min(total, room - block_);
    AlignedBuffer buffer(block_ + total);
    buffer.Resize(block_);
    for (const ByteView piece : pieces) {
      const std::uint64_t want = block_ + total - buffer.size();
      buffer.Append(piece.first(std::min<std::uint64_t>(piece.size(), want)));
    }
    const FrameJob job{.kind = FrameKind::kPlainData,
                       .header_bytes = block_,
                       .buffer = &buffer,
                       .copy = purpose_ == WritePurpose::kReclaim};
    ZENFS_ASSIGN_OR_RETURN(std::vector<PlacedFrame> placed, log_.Write(job));
    PlacedFrame& first = placed.front();
    return Placed{.place = first.payload, .length = first.length, .pin = std::move(first.pin)};
  }

 private:
  LogSpace& log_;
  const std::uint32_t block_;
  const WritePurpose purpose_;
};

}  // namespace

std::unique_ptr<ExtentSink> MakeLogExtentSink(LogSpace& log, std::uint32_t block_size, WritePurpose purpose) {
  return std::make_unique<LogExtentSink>(log, block_size, purpose);
}

}  // namespace zenfs
