// The layout of append buffers in shared memory: docs/formats/shared-memory.md. The reader is
// another process on the same host, perhaps of another version. The writer may have been killed at
// any instruction.
//
//    [header 4096][metrics page][resets of each zone][slot controls, 64 bytes each][buffers, one per slot]
//
// A writer stores the bytes first, then publishes them with one atomic store of length and CRC to
// the slot's `published` word.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/edit.h"

namespace zenfs {

inline constexpr char kBufferAreaMagic[8] = {'Z', 'E', 'N', 'F', 'S', 'S', 'H', 'M'};
inline constexpr std::uint32_t kBufferAreaVersion = 1;
inline constexpr std::uint64_t kBufferAreaHeaderBytes = 4096;
inline constexpr std::size_t kBufferAreaIdentityBytes = 256;

struct BufferAreaHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t crc;  // CRC32C of all kBufferAreaHeaderBytes, with this field zero
  std::uint8_t volume[16];
  std::uint64_t epoch;  // of the mount
  std::uint64_t created_seconds;
  std::uint32_t process;
  std::uint32_t slots;
  std::uint64_t metrics_offset;
  std::uint64_t metrics_bytes;
  std::uint64_t controls_offset;
  std::uint64_t buffers_offset;
  std::uint64_t buffer_bytes;               // per buffer; a multiple of 4096
  char identity[kBufferAreaIdentityBytes];  // of the device, zero-padded
  std::uint8_t key[16];                     // also in the metadata log; zeros: made by a program without keys
  std::uint64_t resets_offset;              // of `zones` counts of 32 bits, within the metrics
  std::uint32_t zones;                      // 0: resets are not counted
  std::uint32_t reserved;
};
static_assert(sizeof(BufferAreaHeader) == 384);
static_assert(offsetof(BufferAreaHeader, volume) == 16);
static_assert(offsetof(BufferAreaHeader, epoch) == 32);
static_assert(offsetof(BufferAreaHeader, metrics_offset) == 56);
static_assert(offsetof(BufferAreaHeader, identity) == 96);
static_assert(offsetof(BufferAreaHeader, key) == 352);
static_assert(offsetof(BufferAreaHeader, resets_offset) == 368);

// The control of one slot. `owner`, `file_offset` and `record_bytes` are written while `published`
// is 0 and describe the next published bytes. `appended_seconds` is written before each append is
// published.
struct BufferAreaControl {
  std::atomic<std::uint64_t> published;  // length << 32 | CRC, see PublishedWord; 0: nothing
  std::uint64_t owner;                   // file id
  std::uint64_t file_offset;             // of the first byte after the record
  std::uint64_t record_bytes;            // of the TailRecord before the file's bytes; 0 for a framed file
  std::uint64_t appended_seconds;        // of the last append, since 1970; 0: unknown
  std::uint64_t reserved[3];
};
static_assert(sizeof(BufferAreaControl) == 64);
static_assert(offsetof(BufferAreaControl, record_bytes) == 24);
static_assert(offsetof(BufferAreaControl, appended_seconds) == 32);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Bytes follow room for a frame header, so that they can be written to the device without a copy.
inline constexpr std::uint64_t kBufferAreaPayloadAt = 64;

// Extents that the records of all slots have at most, so that readers can hold them all. A flush that would need more in its slot
// commits the file instead.
inline constexpr std::uint64_t kRecordedExtentsMax = 1 << 20;
// The share of one slot.
constexpr std::uint64_t RecordedExtentsMax(const BufferAreaHeader& header) {
  return header.slots == 0 ? 0 : kRecordedExtentsMax / header.slots;
}

constexpr std::uint64_t PublishedWord(std::uint32_t length, std::uint32_t crc) {
  return std::uint64_t{length} << 32 | crc;
}
constexpr std::uint32_t PublishedLength(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t PublishedCrc(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

// The start value of the CRC of a slot's bytes. Bytes of another mount, file or offset do not match.
[[nodiscard]] std::uint32_t BufferAreaSeed(const Uuid& volume, std::uint64_t epoch, std::uint64_t owner,
                                           std::uint64_t file_offset, std::uint64_t record_bytes = 0);

// Sets the offsets for `slots` buffers of `buffer_bytes`, and for `metrics_bytes`. Leaves other
// fields unchanged.
void LayOutBufferArea(BufferAreaHeader& header, std::uint32_t slots, std::uint64_t buffer_bytes,
                      std::uint64_t metrics_bytes);
// Puts the counts of `zones` zones behind the metrics and makes those longer, before LayOutBufferArea. Leaves them out if they
// would be too long.
void LayOutResets(BufferAreaHeader& header, std::uint64_t& metrics_bytes, std::uint32_t zones);
[[nodiscard]] std::uint64_t BufferAreaBytes(const BufferAreaHeader& header);

// Sets magic, version and CRC, and writes the header to the front of `memory`.
void SealBufferAreaHeader(ByteSpan memory, BufferAreaHeader header);
// Takes any bytes. Errors: kCorruption, kNotSupported for another version. The offsets of the
// returned header fit `memory`.
[[nodiscard]] Result<BufferAreaHeader> ReadBufferAreaHeader(ByteView memory);
// The same for a file of `file_bytes` that begins with the bytes `page`.
[[nodiscard]] Result<BufferAreaHeader> ReadBufferAreaHeader(ByteView page, std::uint64_t file_bytes);

// The record before the flushed tail of a plain file in its slot.
struct TailRecord {
  // Among the records of one file, the one with the highest order counts.
  std::uint64_t order = 0;
  // Uncommitted extents on the device, followed by the tail. If nothing, the tail follows the
  // committed extents.
  std::optional<SetExtents> uncommitted;

  friend bool operator==(const TailRecord&, const TailRecord&) = default;
};

[[nodiscard]] std::string EncodeTailRecord(const TailRecord& record);
// Takes any bytes. Errors: kCorruption for bytes that no writer makes, and for more than `extents_max` extents, before they
// take memory; kNotSupported as DecodeEdits.
[[nodiscard]] Result<TailRecord> DecodeTailRecord(ByteView bytes, std::uint64_t extents_max);

}  // namespace zenfs
