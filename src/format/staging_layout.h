// How append buffers stand in shared memory: docs/formats/shared-memory.md. The bytes never leave the host, but what
// reads them is another process, perhaps of another version, after this one was killed at any instruction.
//
//   [header 4096][metrics page][slot controls, 64 bytes each][buffers, one per slot]
//
// A slot's `published` word is the only thing whose order matters: length and CRC change with one atomic store, after
// the bytes that they speak of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "base/uuid.h"

namespace zenfs {

inline constexpr char kStagingMagic[8] = {'Z', 'E', 'N', 'F', 'S', 'S', 'H', 'M'};
inline constexpr std::uint32_t kStagingVersion = 1;
inline constexpr std::uint64_t kStagingHeaderBytes = 4096;
inline constexpr std::size_t kStagingIdentityBytes = 256;

struct StagingHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t crc;  // CRC32C of all kStagingHeaderBytes, with this field zero
  std::uint8_t volume[16];
  std::uint64_t epoch;  // of the mount
  std::uint64_t created_seconds;
  std::uint32_t process;
  std::uint32_t slots;
  std::uint64_t metrics_offset;
  std::uint64_t metrics_bytes;
  std::uint64_t controls_offset;
  std::uint64_t buffers_offset;
  std::uint64_t buffer_bytes;            // each; a multiple of 4096
  char identity[kStagingIdentityBytes];  // of the device, zero-padded
  std::uint8_t key[16];                  // as the metadata log has it; zeros: made by a program without keys
};
static_assert(sizeof(StagingHeader) == 368);
static_assert(offsetof(StagingHeader, volume) == 16);
static_assert(offsetof(StagingHeader, epoch) == 32);
static_assert(offsetof(StagingHeader, metrics_offset) == 56);
static_assert(offsetof(StagingHeader, identity) == 96);
static_assert(offsetof(StagingHeader, key) == 352);

// Of one slot. `owner`, `file_offset` and `record_bytes` are written while `published` is 0 and belong to what it publishes next;
// `appended_seconds` is written before each append is published.
struct StagingControl {
  std::atomic<std::uint64_t> published;  // length << 32 | CRC, see PublishedWord; 0: nothing
  std::uint64_t owner;                   // file id
  std::uint64_t file_offset;             // of the first byte behind the record
  std::uint64_t record_bytes;            // of a TailRecord, in front of the file's bytes; 0 for a framed file
  std::uint64_t appended_seconds;        // of the last append, since 1970; 0: not known
  std::uint64_t reserved[3];
};
static_assert(sizeof(StagingControl) == 64);
static_assert(offsetof(StagingControl, record_bytes) == 24);
static_assert(offsetof(StagingControl, appended_seconds) == 32);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Bytes stand behind room for a frame header, so that they go to the device from where they are.
inline constexpr std::uint64_t kStagingPayloadAt = 64;

constexpr std::uint64_t PublishedWord(std::uint32_t length, std::uint32_t crc) {
  return std::uint64_t{length} << 32 | crc;
}
constexpr std::uint32_t PublishedLength(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t PublishedCrc(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

// What the CRC of a slot's bytes starts from: bytes that stand in another slot, mount or file don't fit.
[[nodiscard]] std::uint32_t StagingSeed(const Uuid& volume, std::uint64_t epoch, std::uint64_t owner,
                                        std::uint64_t file_offset, std::uint64_t record_bytes = 0);

// Where things are for `slots` buffers of `buffer_bytes` beside `metrics_bytes`; other fields are left alone.
void LayOutStaging(StagingHeader& header, std::uint32_t slots, std::uint64_t buffer_bytes,
                   std::uint64_t metrics_bytes);
[[nodiscard]] std::uint64_t StagingBytes(const StagingHeader& header);

// Writes magic, version and CRC, and the header to the front of `memory`.
void SealStagingHeader(ByteSpan memory, StagingHeader header);
// Takes any bytes. Errors: kCorruption, kNotSupported for another version. What it returns fits `memory`.
[[nodiscard]] Result<StagingHeader> ReadStagingHeader(ByteView memory);

}  // namespace zenfs
