// The input of the target `staging`: what a process that died left in shared memory, and who comes to look.
//
//   u8 flags, u16 extra bytes of the file, StagingHeader, slots * slot, and the metrics page, as far as it goes
//   slot := u8 flags, u64 owner, u64 file offset, u32 length, u32 crc, u16 n, n bytes
#pragma once

#include <cstdint>

#include "base/uuid.h"

namespace zenfs {

enum StagingFlags : std::uint8_t {
  kHeaderAsItIs = 1,  // not sealed, not laid out
  kLayoutAsItIs = 2,  // sealed, but its offsets are the input's
  kWrongSize = 4,     // the file has the size that the input says
  kOtherDevice = 8,   // who looks is another device
  kOtherEpoch = 16,   // or another mount
  kOtherKey = 32,     // the header has the key of the input, else ours
  kOtherUser = 64,    // the file belongs to another user, where this process is root
};
// kHasRecord: a byte follows the file offset, the length of the record.
enum StagingSlotFlags : std::uint8_t { kCrcAsItIs = 1, kLengthAsItIs = 2, kHasRecord = 4 };

inline Uuid StagingVolume() { return *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef"); }
inline constexpr char kStagingIdentity[] = "fuzz:device";
inline constexpr std::uint64_t kStagingEpoch = 7;
inline constexpr std::uint32_t kStagingSlotsMax = 4;
inline constexpr std::uint64_t kStagingBufferBytes = 4096;

}  // namespace zenfs
