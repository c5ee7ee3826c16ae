#include "wal/log_scan.h"

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "model/number_limits.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;

// A buffer over the written part of one zone; it moves forward with the scan.
class ZoneWindow {
 public:
  ZoneWindow(ZonedDevice& device, DeviceOffset start, std::uint64_t length)
      : device_(device), start_(start), length_(length), buffer_(std::min(kReadBytes, length)) {}

  // Returns at least `needed` bytes from `at` on, or all bytes up to the end.
  ByteView From(std::uint64_t at, std::uint64_t needed) {
    needed = std::min(RoundUp(needed, device_.geometry().block_size), length_ - at);
    if (at < begin_ || at + needed > begin_ + buffer_.size()) Load(at, std::max(needed, kReadBytes));
    return buffer_.View(at - begin_, buffer_.size() - (at - begin_));
  }

 private:
  void Load(std::uint64_t at, std::uint64_t bytes) {
    bytes = std::min(bytes, length_ - at);
    if (bytes > buffer_.capacity()) buffer_ = AlignedBuffer(bytes);
    buffer_.Resize(bytes);
    begin_ = at;
    if (device_.Read(start_ + at, buffer_.Span()).ok()) return;
    // An unreadable block is an invalid frame, not the end of the log (device-assumptions 1).
    const std::uint32_t block = device_.geometry().block_size;
    for (std::uint64_t done = 0; done < bytes; done += block) {
      const ByteSpan one(buffer_.data() + done, block);
      if (!device_.Read(start_ + at + done, one).ok()) std::memset(one.data(), 0, one.size());
    }
  }

  ZonedDevice& device_;
  const DeviceOffset start_;
  const std::uint64_t length_;
  AlignedBuffer buffer_;
  std::uint64_t begin_ = 0;
};

// The numbers of a volume never get so large that this skips its frames.
static_assert(kStateNumbersEnd == kNumbersEnd && kStateNumbersCredible == kCredibleEnd);

}  // namespace

bool IsPossible(const ScannedFrame& frame) {
  return frame.sequence != 0 && frame.stable_sequence < frame.sequence &&
         std::max({frame.sequence, frame.file_offset, frame.owner, frame.epoch}) < kNumbersEnd;
}

bool IsCredible(const ScannedFrame& frame) {
  return IsPossible(frame) &&
         std::max({frame.sequence, frame.file_offset, frame.owner, frame.epoch}) < kCredibleEnd;
}

std::uint64_t ScanLogZone(ZonedDevice& device, const Uuid& volume, const LogZone& zone, const ZoneInfo& info,
                          const std::function<void(const ScannedFrame&)>& found, std::uint64_t from,
                          const std::function<void(std::uint64_t, const ParsedFrame&)>& passed_over) {
  const std::uint32_t block = device.geometry().block_size;
  const std::uint64_t length = info.WrittenBytes();
  const FrameSeed seed = FrameSeed::Of(volume, zone.zone, zone.generation, zone.salt);
  ZoneWindow window(device, info.start, length);
  std::uint64_t behind_last = from;
  for (std::uint64_t at = from; at < length;) {
    ParsedFrame frame = ParseFrame(window.From(at, block), seed, block, length - at);
    if (frame.verdict == FrameVerdict::kTooShort) {
      frame = ParseFrame(window.From(at, frame.needed), seed, block, length - at);
    }
    if (!frame.valid()) {
      if (passed_over) passed_over(at, frame);
      at += block;
      continue;
    }
    const std::uint64_t device_bytes = frame.header.BytesOnDevice(block);
    if (frame.header.kind == FrameKind::kLogData) {
      found({.owner = frame.header.owner,
             .epoch = frame.header.epoch,
             .sequence = frame.header.sequence,
             .file_offset = frame.header.file_offset,
             .stable_sequence = frame.header.stable_sequence,
             .time = frame.header.time,
             .length = frame.header.payload_bytes,
             .payload = info.start + at + frame.header.header_bytes,
             .device_bytes = device_bytes,
             .zone = zone.zone});
    }
    at += device_bytes;
    behind_last = at;
  }
  return behind_last;
}

}  // namespace zenfs
