#include "format/frame_time.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kCycle = 32767;  // number of codes for one unit
// Less than half of the cycle, because the anchors of writer and reader may differ by some seconds.
constexpr std::uint64_t kFarthest = 16000;
constexpr std::uint16_t kCoarse = 0x8000;
constexpr std::uint64_t kCoarseSeconds = 64;

std::uint64_t Distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

std::uint16_t CodeOf(std::uint64_t units) { return static_cast<std::uint16_t>(1 + units % kCycle); }

}  // namespace

std::uint16_t EncodeFrameTime(std::uint64_t seconds, std::uint64_t anchor) {
  if (Distance(seconds, anchor) <= kFarthest) return CodeOf(seconds);
  const std::uint64_t units = seconds / kCoarseSeconds;
  if (Distance(units, anchor / kCoarseSeconds) > kFarthest) return 0;
  return kCoarse | CodeOf(units);
}

std::optional<std::uint64_t> DecodeFrameTime(std::uint16_t code, std::uint64_t anchor) {
  const bool coarse = (code & kCoarse) != 0;
  const std::uint64_t residue = code & ~kCoarse;
  if (residue == 0) return std::nullopt;
  const std::uint64_t unit = coarse ? kCoarseSeconds : 1;
  const std::uint64_t near = anchor / unit;
  // Counts from a cycle earlier, so that nothing wraps for an anchor near 0.
  std::uint64_t units = (near / kCycle) * kCycle + residue - 1;
  if (units > near && units - near > kCycle / 2 && units >= kCycle) units -= kCycle;
  if (units < near && near - units > kCycle / 2) units += kCycle;
  return units * unit;
}

}  // namespace zenfs
