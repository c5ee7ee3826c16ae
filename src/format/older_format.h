// The bytes of the older ZenFS's metadata, formats 1 and 2 (docs/formats/older-formats.md). These formats are not written, except
// for the marker of an undo, which is one record. Decoders take any bytes, and never read outside of them.
//
// Errors: kCorruption, with the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "format/superblock.h"
#include "model/file_record.h"

namespace zenfs {

inline constexpr std::size_t kOlderMetadataZones = 3;  // the first sequential ones
inline constexpr std::size_t kOlderRecordHeaderBytes = 8;
inline constexpr std::size_t kOlderSuperblockRecordBytes = kOlderRecordHeaderBytes + 512;
// Before each segment of a framed file: the length of its data.
inline constexpr std::size_t kOlderSegmentHeaderBytes = 8;

// The payload of the record at the start of `bytes`; nothing if there is none, or its checksum does not match.
[[nodiscard]] std::optional<ByteView> ParseOlderRecord(ByteView bytes);
// The payload that the header of a record claims, without a look at the checksum. `header`: at least kOlderRecordHeaderBytes.
[[nodiscard]] std::uint32_t OlderPayloadBytes(ByteView header);

struct OlderSuperblock {
  std::uint32_t sequence = 0;
  Superblock superblock;  // without metadata_zones
};
// True if the first bytes of a zone are such a superblock, valid or not.
[[nodiscard]] bool HasOlderSuperblockMagic(ByteView bytes);
[[nodiscard]] Result<OlderSuperblock> DecodeOlderSuperblock(ByteView payload);

// No log gets so far. A superblock with this sequence and an invalid record behind it says that an upgrade is being undone
// (upgrade/upgrade.h): neither program then takes the older log, which is not whole yet. The older program passes by a superblock
// without a snapshot, and takes the log before it; at an invalid record it refuses.
inline constexpr std::uint32_t kOlderUndoSequence = UINT32_MAX;
// Makes `block` begin with a record whose checksum is wrong.
void SetInvalidOlderRecord(ByteSpan block);
// `record`: a whole superblock with its header, at least kOlderSuperblockRecordBytes.
void SetOlderSequence(ByteSpan record, std::uint32_t sequence);

struct OlderExtent {
  std::uint64_t start = 0;  // bytes from the start of the device
  std::uint64_t length = 0;
  friend bool operator==(const OlderExtent&, const OlderExtent&) = default;
};

// A file as a record has it. In a snapshot and a replacement the extents are all that it has, in an update the new ones.
struct OlderFile {
  static constexpr std::uint64_t kNoActiveExtent = UINT64_MAX;

  std::uint64_t id = 0;
  std::optional<std::uint64_t> size;
  std::optional<Lifetime> lifetime;
  std::optional<std::uint64_t> mtime_seconds;
  std::optional<std::uint64_t> active_start;  // of the extent that is being written, or kNoActiveExtent
  bool framed = false;                        // "sparse": each extent is behind a header with its length
  std::vector<std::string> names;             // paths
  std::vector<OlderExtent> extents;
};

struct OlderSnapshot {
  std::vector<OlderFile> files;  // one with several names is there several times
};
struct OlderUpdate {
  OlderFile file;
  bool replaces_extents = false;
};
struct OlderDeletion {
  std::uint64_t id = 0;
  std::string name;
};
struct OlderEnd {};  // the log goes on in another zone
using OlderRecord = std::variant<OlderSnapshot, OlderUpdate, OlderDeletion, OlderEnd>;
// `version`: that of the superblock.
[[nodiscard]] Result<OlderRecord> DecodeOlderRecord(ByteView payload, std::uint32_t version);

}  // namespace zenfs
