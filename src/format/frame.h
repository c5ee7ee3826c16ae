// The frame: how everything but the superblock and plain file data stands on the medium. The metadata log and
// the log zones use the same one; docs/formats/frame.md has the layout, the example and the downsides.
//
//   [header 64 bytes][zeros up to header_bytes][payload][zeros up to the next block]
//
// Invariants
//   a frame begins on a block boundary and never crosses a zone
//   its CRC covers all from the field behind the CRC to the end of the payload and is seeded (FrameSeed), so
//   a frame that was copied elsewhere, or is left from an earlier life of its zone, never matches lengths are
//   bounded before they are used: ParseFrame may be given any bytes
//
// Threads: functions on values, no state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/uuid.h"
#include "model/units.h"

namespace zenfs {

inline constexpr std::uint32_t kFrameMagic = 0x33464e5a;  // "ZNF3" as bytes
inline constexpr std::size_t kFrameHeaderBytes = 64;
inline constexpr std::size_t kMaxFrameHeaderBytes = 65536;  // the largest block size
inline constexpr std::size_t kMaxFramePayload = std::size_t{16} << 20;

enum class FrameKind : std::uint16_t {
  kLogHeader = 1,     // metadata log: first in each of its zones
  kSnapshot = 2,      // metadata log: edits that rebuild the state
  kCommit = 3,        // metadata log: grouped commits
  kRollComplete = 4,  // metadata log: all before it is durable, this generation is the current one
  kLogData = 5,       // log zone: bytes of a framed file
  kPlainData = 6,     // no longer written: bytes of a plain file between the frames of logs
  kRollBegin = 7,     // metadata log: from here on a newer generation may stand in another zone
};

// Little-endian, as it stands on the medium. Fields that a kind does not use are 0.
struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint32_t crc = 0;  // CRC32C, seeded, over bytes [8, header_bytes + payload_bytes)
  FrameKind kind = FrameKind::kLogData;
  std::uint16_t time = 0;                          // log data: frame_time.h; else 0
  std::uint32_t header_bytes = kFrameHeaderBytes;  // where the payload begins; a block for kPlainData
  std::uint32_t payload_bytes = 0;                 // at most kMaxFramePayload
  std::uint32_t reserved = 0;
  std::uint64_t owner = 0;            // file id; metadata log: 0
  std::uint64_t sequence = 0;         // of the frame in its file; metadata log: of its first commit
  std::uint64_t file_offset = 0;      // of the payload in its file; metadata log: generation
  std::uint64_t epoch = 0;            // mount epoch; metadata log: ordinal of the frame in its generation
  std::uint64_t stable_sequence = 0;  // known durable when written; metadata log: last commit in the frame

  // What the frame occupies on the device: header and payload, rounded up to blocks.
  std::uint64_t BytesOnDevice(std::uint32_t block_size) const {
    return RoundUp(std::uint64_t{header_bytes} + payload_bytes, block_size);
  }
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);
static_assert(offsetof(FrameHeader, crc) == 4);
static_assert(offsetof(FrameHeader, kind) == 8);
static_assert(offsetof(FrameHeader, time) == 10);
static_assert(offsetof(FrameHeader, header_bytes) == 12);
static_assert(offsetof(FrameHeader, payload_bytes) == 16);
static_assert(offsetof(FrameHeader, reserved) == 20);
static_assert(offsetof(FrameHeader, owner) == 24);
static_assert(offsetof(FrameHeader, sequence) == 32);
static_assert(offsetof(FrameHeader, file_offset) == 40);
static_assert(offsetof(FrameHeader, epoch) == 48);
static_assert(offsetof(FrameHeader, stable_sequence) == 56);

// No writer comes to such a sequence, ordinal, generation or offset: one that is read was never written, whatever its
// checksum says. Below it, one more always fits 64 bits.
inline constexpr std::uint64_t kNumbersEnd = std::uint64_t{1} << 63;
// What is not known from elsewhere is believed, and counted on from, only below this: what comes behind it is then possible,
// too.
inline constexpr std::uint64_t kCredibleEnd = kNumbersEnd / 2;

// What ties a frame to one life of one zone of one volume.
struct FrameSeed {
  std::uint32_t value = 0;

  static FrameSeed Of(const Uuid& volume, ZoneId zone, std::uint64_t generation, std::uint64_t salt);
  friend bool operator==(const FrameSeed&, const FrameSeed&) = default;
};

// Completes a frame whose payload (header.payload_bytes) stands at header.header_bytes of `frame` already:
// clears the gap between header and payload, computes the CRC, writes the header. magic and crc of `header`
// are ignored. Bytes behind the payload are not touched.
void SealFrame(ByteSpan frame, FrameHeader header, FrameSeed seed);

// The same for a payload that stands elsewhere in memory: fills all of `head`, header.header_bytes long.
void SealFrameHead(ByteSpan head, FrameHeader header, FrameSeed seed, ByteView payload);

enum class FrameVerdict {
  kValid,
  kNotAFrame,  // no magic: zeros, user data, a hole
  kDamaged,    // begins like a frame, but is torn, of another life, or longer than `limit`
  kTooShort,   // call again with at least `needed` bytes
};

struct ParsedFrame {
  FrameVerdict verdict = FrameVerdict::kNotAFrame;
  FrameHeader header;        // kValid: proven; kDamaged, kTooShort: as read, not to be trusted
  ByteView payload;          // kValid: into the bytes given
  std::uint64_t needed = 0;  // kTooShort: more than was given and at most `limit`

  bool valid() const { return verdict == FrameVerdict::kValid; }
};

// Judges what stands at the front of `bytes`, which may go on behind the frame. `limit`: bytes from here to
// the end of what can hold frames; a frame that claims more is kDamaged, so `needed` never exceeds it.
[[nodiscard]] ParsedFrame ParseFrame(ByteView bytes, FrameSeed seed, std::uint32_t block_size,
                                     std::uint64_t limit);

}  // namespace zenfs
