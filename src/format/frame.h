// The frame: the unit of the metadata log and of the log zones. Only the superblock and plain file
// data are not in frames. docs/formats/frame.md has the layout, an example and the downsides.
//
//    [header 64 bytes][zeros up to header_bytes][payload][zeros up to the next block]
//
// Invariants
//    A frame begins on a block boundary and never crosses a zone boundary.
//    Its CRC covers everything from the field after the CRC to the end of the payload. The CRC is seeded (FrameSeed), so a
//    frame that was copied elsewhere, or is from an earlier incarnation of its zone, never matches.
//    Lengths are bounded before they are used: ParseFrame accepts any bytes.
//
// Threads: functions on values, no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/uuid.h"
#include "model/units.h"

namespace zenfs {

inline constexpr std::uint32_t kFrameMagic = 0x33464e5a;  // "ZNF3" as bytes
inline constexpr std::size_t kFrameHeaderBytes = 64;
inline constexpr std::size_t kMaxFrameHeaderBytes = 65536;  // the largest block size
inline constexpr std::size_t kMaxFramePayload = std::size_t{16} << 20;

enum class FrameKind : std::uint16_t {
  kLogHeader = 1,       // metadata log: first in each of its zones
  kSnapshot = 2,        // metadata log: edits that rebuild the state
  kCommit = 3,          // metadata log: grouped commits
  kSwitchComplete = 4,  // metadata log: everything before it is durable; its generation is the current one
  kLogData = 5,         // log zone: bytes of a framed file
  kPlainData = 6,       // no longer written: bytes of a plain file between log frames
  kSwitchBegin = 7,     // metadata log: a newer generation may exist in another zone
};

// Little-endian on the medium. Fields that a kind does not use are 0.
struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint32_t crc = 0;  // CRC32C, seeded, over bytes [8, header_bytes + payload_bytes)
  FrameKind kind = FrameKind::kLogData;
  std::uint16_t time = 0;                          // log data: EncodeFrameTime; otherwise 0
  std::uint32_t header_bytes = kFrameHeaderBytes;  // offset of the payload; one block for kPlainData
  std::uint32_t payload_bytes = 0;                 // at most kMaxFramePayload
  std::uint32_t reserved = 0;
  std::uint64_t owner = 0;            // file id; metadata log: 0
  std::uint64_t sequence = 0;         // number in its file; metadata log: of its first commit
  std::uint64_t file_offset = 0;      // offset of the payload in its file; metadata log: generation
  std::uint64_t epoch = 0;            // mount epoch; metadata log: ordinal of the frame in its generation
  std::uint64_t stable_sequence = 0;  // known durable when written; metadata log: last commit in the frame

  // Bytes on the device: header and payload, rounded up to blocks.
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

// No writer reaches this sequence, ordinal, generation or offset. A frame with a number of at least
// this is invalid, even if its CRC matches. Incrementing any smaller number cannot overflow.
inline constexpr std::uint64_t kNumbersEnd = std::uint64_t{1} << 63;
// A number that nothing else confirms is accepted, and incremented further, only if it is below
// this. Then it stays below kNumbersEnd.
inline constexpr std::uint64_t kCredibleEnd = kNumbersEnd / 2;

// Binds a frame to one incarnation of one zone of one volume.
struct FrameSeed {
  std::uint32_t value = 0;

  static FrameSeed Of(const Uuid& volume, ZoneId zone, std::uint64_t generation, std::uint64_t salt);
  friend bool operator==(const FrameSeed&, const FrameSeed&) = default;
};

// Completes a frame whose payload (header.payload_bytes) is already at header.header_bytes of
// `frame`: clears the gap between header and payload, computes the CRC, writes the header. Ignores
// magic and crc of `header`. Does not change bytes after the payload.
void SealFrame(ByteSpan frame, FrameHeader header, FrameSeed seed);

// The same for a payload elsewhere in memory: fills all of `head`, which is header.header_bytes
// long.
void SealFrameHead(ByteSpan head, FrameHeader header, FrameSeed seed, ByteView payload);

enum class FrameVerdict {
  kValid,
  kNotAFrame,  // no magic: zeros, user data, a hole
  kDamaged,    // begins like a frame, but is torn, of another incarnation, or longer than `limit`
  kTooShort,   // call again with at least `needed` bytes
};

struct ParsedFrame {
  FrameVerdict verdict = FrameVerdict::kNotAFrame;
  FrameHeader header;        // kValid: proven; kDamaged, kTooShort: as read, unproven
  ByteView payload;          // kValid: into the bytes given
  std::uint64_t needed = 0;  // kTooShort: more than bytes.size() and at most `limit`

  bool valid() const { return verdict == FrameVerdict::kValid; }
};

// Examines the front of `bytes`, which may continue after the frame. `limit`: bytes from here to
// the end of the area for frames. A frame that claims more is kDamaged, so `needed` never exceeds
// `limit`.
[[nodiscard]] ParsedFrame ParseFrame(ByteView bytes, FrameSeed seed, std::uint32_t block_size,
                                     std::uint64_t limit);

// The same for a scan, which asks for each block whether a frame begins there, and needs no payload: `payload` stays empty.
// `bytes_here(n)`: at least n bytes from here on, or all up to the end. `crc_behind(n)`: the CRC of n bytes from the second
// block on; if it returns nothing, the bytes are asked for.
[[nodiscard]] ParsedFrame ScanFrame(FrameSeed seed, std::uint32_t block_size, std::uint64_t limit,
                                    const std::function<ByteView(std::uint64_t)>& bytes_here,
                                    const std::function<KnownCrc(std::uint64_t)>& crc_behind);

// --- FrameHeader::time: the last append to the file before the frame was written ---
//
// After a crash it becomes the log's mtime. 16 bits are too short for a date. The code is the distance from an anchor that
// writer and reader both know: the time of the previous frame, or for the first frame the mtime in the file's record.

// Exact up to 4 hours from the anchor. Up to 11 days: rounded down to a multiple of 64 seconds.
// Beyond: 0, "unknown".
[[nodiscard]] std::uint16_t EncodeFrameTime(std::uint64_t seconds, std::uint64_t anchor);
// Returns the time with this code that is nearest to `anchor`, or nothing if it is unknown. Accepts
// any code.
[[nodiscard]] std::optional<std::uint64_t> DecodeFrameTime(std::uint16_t code, std::uint64_t anchor);

}  // namespace zenfs
