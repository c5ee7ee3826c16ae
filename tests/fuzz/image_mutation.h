// What the target `image` does to a valid volume before it is checked and mounted: changes that know what stands where, so
// that most of them get past the checksums.
#pragma once

#include "image_bases.h"
#include "input.h"

namespace zenfs {

enum class Mutation : std::uint8_t {
  kBytes,    // u32 at, u8 n, n bytes: overwritten as they are
  kField,    // u8 frame, u8 field of its header, u64: set, and the frame sealed again
  kPayload,  // u8 frame, u16 at, u8 n, n bytes: overwritten in its payload, and the frame sealed again
  kCommit,   // u16 n, n bytes: a commit of this list of edits, at the end of the metadata log in the zone
  kLogFrame,  // owner, sequence, offset, epoch, stable (u64), u8 n: a frame of a file at the end of the log zone
  kDuplicate,   // u8 frame: stands twice
  kDrop,        // u8 frame: is gone, what is behind it moves forward
  kSwap,        // u8 frame, u8 frame
  kCut,         // u8 blocks at the end are gone
  kCondition,   // u8 condition
  kBroken,      // u16 block: can't be read
  kSplice,      // u8 age, u8 zone: the zone is what another was at another age
  kRenumber,    // frames of the metadata log are numbered anew
  kSuperblock,  // u16 at, u8 n, n bytes: overwritten, with a CRC that fits
  kExtend,      // u8 blocks of zeros are added
  kCount,
};

// Each mutation: u8 which, u8 zone, and what is said above. All of `input`.
void Mutate(const ImageBase& base, const ImageAge& age, FuzzInput& input, ImageDevice::Image& image);

}  // namespace zenfs
