#include "metalog/headless_zone.h"

#include "format/frame.h"
#include "metalog/zone_reader.h"

namespace zenfs {

HeadlessZone JudgeHeadlessZone(ZonedDevice& device, const ZoneInfo& info, std::uint64_t generation,
                               std::uint64_t sequence) {
  const std::uint32_t block = device.geometry().block_size;
  ZoneReader zone(device, info.id, info.WrittenBytes());
  for (std::uint64_t at = zone.SkipZeros(MetazoneLayout(block).frames_at); at < zone.end();
       at = zone.SkipZeros(at + block)) {
    const ParsedFrame frame =
        ParseFrame(zone.View(at, block).first(block), FrameSeed{}, block, zone.end() - at);
    if (frame.verdict == FrameVerdict::kNotAFrame || frame.header.kind != FrameKind::kCommit) continue;
    if (frame.header.file_offset > generation && frame.header.stable_sequence > sequence)
      return HeadlessZone::kNewerCommits;
  }
  return zone.met_unreadable() ? HeadlessZone::kUnreadable : HeadlessZone::kNothing;
}

}  // namespace zenfs
