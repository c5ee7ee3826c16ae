// Contents of zones as a list of things that stand in them, so that what a fuzzer changes stays a zone: a byte that is put
// into one frame does not move the next one off its block, and checksums fit again, where the script does not say that
// they don't.
//
//   script := entry*      entry := u8 what, u16 length, length bytes
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "format/frame.h"
#include "image_device.h"
#include "input.h"

namespace zenfs {

enum class ScriptEntry : std::uint8_t {
  kFrame,      // a frame as it stands on the device; its CRC is made to fit
  kNextFrame,  // the same, but its epoch and sequence follow those of the frame before (metadata log)
  kBytes,      // as they are, up to the next block
  kNextZone,   // all that follows stands in the next zone
  kCondition,  // u8: of the zone, once the script is through with it
  kBroken,     // the next block is there and can't be read
  kCut,        // u8: so many blocks are missing at the end of the zone so far
  kForTarget,  // for the target: not a part of a zone
  kCount,
};

// What seals the frames of a zone: their payload and header as they are in the script.
using SeedOfFrame = std::function<FrameSeed(ZoneId zone, const FrameHeader& header, ByteView payload)>;

struct ZoneScript {
  std::uint64_t first_byte = 0;  // of each zone; what stands before is zeros
  std::uint32_t block_size = 0;
  std::uint64_t capacity = 0;
  std::uint32_t first_zone = 0;  // that the script begins in
  std::uint32_t end_zone = 0;    // behind the last that it may fill
  SeedOfFrame seed;
  std::function<void(ByteView)> for_target;  // may be empty
};

// Fills zones of `image`, which has them all.
void RunZoneScript(const ZoneScript& how, FuzzInput& input, ImageDevice::Image& image);

// Writes a script.
void PutEntry(std::string& script, ScriptEntry what, ByteView bytes);
// One that makes these zones as they are; `seed` is that of their frames.
std::string ScriptOf(const ZoneScript& how, const ImageDevice::Image& image);

}  // namespace zenfs
