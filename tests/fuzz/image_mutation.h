// The changes that the target `image` makes to a valid volume before it is checked and mounted.
// They know the layout, so that most of them pass the checksums.
#pragma once

#include "image_bases.h"
#include "input.h"

namespace zenfs {

enum class Mutation : std::uint8_t {
  kBytes,       // u32 at, u8 n, n bytes: overwrites raw bytes
  kField,       // u8 frame, u8 field of its header, u64: sets the field and seals the frame
  kPayload,     // u8 frame, u16 at, u8 n, n bytes: overwrites payload and seals the frame
  kCommit,      // u16 n, n bytes: a commit of this list of edits, at the end of the metadata log in the zone
  kLogFrame,    // owner, sequence, offset, epoch, stable (u64), u8 n: a frame at the end of the log zone
  kDuplicate,   // u8 frame: is duplicated
  kDrop,        // u8 frame: is removed; later ones move forward
  kSwap,        // u8 frame, u8 frame
  kCut,         // u8: this many blocks at the end are removed
  kCondition,   // u8 condition
  kBroken,      // u16 block: becomes unreadable
  kSplice,      // u8 age, u8 zone: gets the contents of that zone at that age
  kRenumber,    // frames of the metadata log get new numbers
  kSuperblock,  // u16 at, u8 n, n bytes: overwrites the superblock, with a valid CRC
  kExtend,      // u8 blocks of zeros are added
  kPartner,     // u8 age: the second of two devices gets all its contents of that age
  kPairRecord,  // u8 record, u8 field, u64: sets the field of a record of the pair's key and seals the record
  kDeep,  // u8 levels, u8 bytes of a name: a commit of a chain of directories below kDeepTree, with a file at its end
  kCount,
};

// Top of the chain in the root of the volume.
inline constexpr std::string_view kDeepTree = "~";

// Format of a mutation: u8 kind, u8 zone, and the fields above. Uses all of `input`.
void Mutate(const ImageBase& base, const ImageAge& age, FuzzInput& input, ImageDevice::Image& image);

}  // namespace zenfs
