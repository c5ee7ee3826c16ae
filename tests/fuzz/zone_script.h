// Contents of zones as a list of entries, so that changes by a fuzzer leave valid zones: a byte
// added to one frame does not move the next frame off its block, and checksums are corrected unless
// the script says otherwise.
//
//    script := entry*      entry := u8 what, u16 length, length bytes
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
  kFrame,      // a frame as on the device; its CRC is corrected
  kNextFrame,  // the same, with epoch and sequence after those of the previous frame (metadata log)
  kBytes,      // raw bytes, up to the next block
  kNextZone,   // later entries are in the next zone
  kCondition,  // u8: condition of the zone after the script
  kBroken,     // the next block exists and can't be read
  kCut,        // u8: removes this many blocks at the end of the zone so far
  kForTarget,  // data for the target, not part of a zone
  kCount,
};

// Returns the seed for the frames of a zone. Payload and header are as in the script.
using SeedOfFrame = std::function<FrameSeed(ZoneId zone, const FrameHeader& header, ByteView payload)>;

struct ZoneScript {
  std::uint64_t first_byte = 0;  // of each zone; zeros before it
  std::uint32_t block_size = 0;
  std::uint64_t capacity = 0;
  std::uint32_t first_zone = 0;  // the first zone of the script
  std::uint32_t end_zone = 0;    // after the last zone that it may fill
  SeedOfFrame seed;
  std::function<void(ByteView)> for_target;  // may be empty
};

// Fills zones of `image`, which must contain all of them.
void RunZoneScript(const ZoneScript& how, FuzzInput& input, ImageDevice::Image& image);

// Writes a script.
void PutEntry(std::string& script, ScriptEntry what, ByteView bytes);
// Returns a script that makes these zones. `seed` is for their frames.
std::string ScriptOf(const ZoneScript& how, const ImageDevice::Image& image);

}  // namespace zenfs
