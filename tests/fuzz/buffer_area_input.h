// The input of the target `buffer_area`: the shared memory of a process that died, and the mount that
// reads it.
//
//    u8 flags, u16 extra bytes of the file, BufferAreaHeader, slots * slot, and the metrics page, as far as it goes
//    slot := u8 flags, u64 owner, u64 file offset, u32 length, u32 crc, u16 n, n bytes
#pragma once

#include <cstdint>

#include "base/uuid.h"

namespace zenfs {

enum BufferAreaFlags : std::uint8_t {
  kHeaderAsItIs = 1,  // neither sealed nor laid out
  kLayoutAsItIs = 2,  // sealed, with the offsets of the input
  kWrongSize = 4,     // the file has the size in the input
  kOtherDevice = 8,   // the reader is on another device
  kOtherEpoch = 16,   // the reader expects another mount
  kOtherKey = 32,     // the header has the key of the input, otherwise ours
  kOtherUser = 64,    // the file belongs to another user, if this process is root
};
// kHasRecord: after the file offset there is a byte with the length of the record.
enum BufferAreaSlotFlags : std::uint8_t { kCrcAsItIs = 1, kLengthAsItIs = 2, kHasRecord = 4 };

inline Uuid BufferAreaVolume() { return *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef"); }
inline constexpr char kBufferAreaIdentity[] = "fuzz:device";
inline constexpr std::uint64_t kBufferAreaEpoch = 7;
inline constexpr std::uint32_t kBufferAreaSlotsMax = 4;
inline constexpr std::uint64_t kBufferAreaBufferBytes = 4096;

}  // namespace zenfs
