#include "format/older_format.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/coding.h"
#include "base/crc32c.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kMagic = 0x5a454e46;
constexpr std::size_t kSuperblockPayload = 512;
constexpr std::size_t kUuidBytes = 37;  // 36 characters and NUL
constexpr std::size_t kAuxPathBytes = 256;
constexpr std::size_t kVersionTextBytes = 64;

enum RecordTag : std::uint32_t { kSnapshot = 1, kUpdate, kDeletion, kEnd, kReplacement };
enum FileTag : std::uint32_t {
  kId = 1,
  kOnlyName,  // of format 1
  kSize,
  kLifetime,
  kExtent,
  kModified,
  kActiveStart,
  kFramed,
  kName,
};

std::unexpected<Error> Corrupt(std::string what) { return Fail(Code::kCorruption, std::move(what)); }

std::uint32_t MaskedCrc(ByteView bytes) { return std::rotr(Crc32c(bytes), 15) + 0xa282ead8U; }

std::string TextOf(std::string_view field) { return std::string(field.substr(0, field.find('\0'))); }

// The next `bytes` of a payload that is known to be long enough.
std::string_view TakeField(ByteView& rest, std::size_t bytes) {
  const std::string_view field = AsText(rest.first(bytes));
  rest = rest.subspan(bytes);
  return field;
}

std::uint32_t TakeNumber(ByteView& rest) {
  std::uint32_t number = 0;
  std::memcpy(&number, rest.data(), sizeof number);
  rest = rest.subspan(sizeof number);
  return number;
}

Result<OlderExtent> DecodeExtent(std::string_view bytes, std::uint32_t version) {
  Decoder in(AsBytes(bytes));
  OlderExtent extent{.start = in.Fixed<std::uint64_t>()};
  extent.length = version == 1 ? in.Fixed<std::uint32_t>() : in.Fixed<std::uint64_t>();
  if (!in.ok() || !in.AtEnd()) return Corrupt(fmt::format("an extent of {} bytes", bytes.size()));
  return extent;
}

// Decodes one tag and its value into `file`. Errors: without a value that is too short; the caller looks at in.ok().
Status DecodeField(Decoder& in, std::uint32_t version, OlderFile& file) {
  const auto tag = in.Fixed<std::uint32_t>();
  switch (tag) {
    case kId: return Corrupt("a file with two ids");
    case kOnlyName:
    case kName: file.names.emplace_back(in.String()); return {};
    case kSize: file.size = in.Fixed<std::uint64_t>(); return {};
    case kModified: file.mtime_seconds = in.Fixed<std::uint64_t>(); return {};
    case kActiveStart: file.active_start = in.Fixed<std::uint64_t>(); return {};
    case kFramed: file.framed = true; return {};
    case kLifetime: {
      const auto lifetime = in.Fixed<std::uint32_t>();
      if (lifetime >= kLifetimeCount) return Corrupt(fmt::format("a lifetime {}", lifetime));
      file.lifetime = static_cast<Lifetime>(lifetime);
      return {};
    }
    case kExtent: {
      const std::string_view bytes = in.String();
      if (!in.ok()) return {};
      ZENFS_ASSIGN_OR_RETURN(file.extents.emplace_back(), DecodeExtent(bytes, version));
      return {};
    }
    default: return Corrupt(fmt::format("a field {} of a file", tag));
  }
}

Result<OlderFile> DecodeFile(std::string_view bytes, std::uint32_t version) {
  Decoder in(AsBytes(bytes));
  OlderFile file;
  if (in.Fixed<std::uint32_t>() != kId) return Corrupt("a file without an id");
  file.id = in.Fixed<std::uint64_t>();
  while (in.ok() && !in.AtEnd()) {
    if (Status field = DecodeField(in, version, file); !field.ok()) return Fail(std::move(field).error());
  }
  if (!in.ok()) return Corrupt(fmt::format("file {} is cut short", file.id));
  return file;
}

Result<OlderRecord> DecodeSnapshot(std::string_view bytes, std::uint32_t version) {
  Decoder in(AsBytes(bytes));
  OlderSnapshot snapshot;
  while (!in.AtEnd()) {
    const std::string_view file = in.String();
    if (!in.ok()) return Corrupt("a snapshot that is cut short");
    ZENFS_ASSIGN_OR_RETURN(snapshot.files.emplace_back(), DecodeFile(file, version));
  }
  return snapshot;
}

Result<OlderRecord> DecodeDeletion(std::string_view bytes) {
  Decoder in(AsBytes(bytes));
  OlderDeletion deletion{.id = in.Fixed<std::uint64_t>(), .name = std::string(in.String())};
  if (!in.ok() || !in.AtEnd()) return Corrupt("a deletion of the wrong length");
  return deletion;
}

}  // namespace

std::uint32_t OlderPayloadBytes(ByteView header) {
  std::uint32_t length = 0;
  std::memcpy(&length, header.data() + sizeof(std::uint32_t), sizeof length);
  return length;
}

std::optional<ByteView> ParseOlderRecord(ByteView bytes) {
  if (bytes.size() < kOlderRecordHeaderBytes) return std::nullopt;
  const std::uint32_t length = OlderPayloadBytes(bytes);
  if (length == 0 || length > bytes.size() - kOlderRecordHeaderBytes) return std::nullopt;
  std::uint32_t crc = 0;
  std::memcpy(&crc, bytes.data(), sizeof crc);
  if (MaskedCrc(bytes.subspan(sizeof crc, sizeof length + length)) != crc) return std::nullopt;
  return bytes.subspan(kOlderRecordHeaderBytes, length);
}

void SetOlderSequence(ByteSpan record, std::uint32_t sequence) {
  ZENFS_ASSERT(record.size() >= kOlderSuperblockRecordBytes);
  std::memcpy(record.data() + kOlderRecordHeaderBytes + sizeof kMagic + kUuidBytes, &sequence,
              sizeof sequence);
  const std::uint32_t crc =
      MaskedCrc(record.subspan(sizeof(std::uint32_t), kOlderSuperblockRecordBytes - sizeof(std::uint32_t)));
  std::memcpy(record.data(), &crc, sizeof crc);
}

void SetInvalidOlderRecord(ByteSpan block) {
  ZENFS_ASSERT(block.size() > kOlderRecordHeaderBytes);
  const std::uint32_t payload_bytes = 1;
  std::memcpy(block.data() + sizeof(std::uint32_t), &payload_bytes, sizeof payload_bytes);
  const std::uint32_t wrong =
      ~MaskedCrc(block.subspan(sizeof(std::uint32_t), sizeof payload_bytes + payload_bytes));
  std::memcpy(block.data(), &wrong, sizeof wrong);
}

bool HasOlderSuperblockMagic(ByteView bytes) {
  if (bytes.size() < kOlderRecordHeaderBytes + sizeof kMagic) return false;
  ByteView magic = bytes.subspan(kOlderRecordHeaderBytes);
  return OlderPayloadBytes(bytes) == kSuperblockPayload && TakeNumber(magic) == kMagic;
}

Result<OlderSuperblock> DecodeOlderSuperblock(ByteView payload) {
  if (payload.size() != kSuperblockPayload || TakeNumber(payload) != kMagic)
    return Corrupt("no superblock of the older ZenFS");
  const auto uuid = Uuid::Parse(TextOf(TakeField(payload, kUuidBytes)));
  if (!uuid) return Corrupt("the superblock has no valid UUID");
  OlderSuperblock found;
  Superblock& superblock = found.superblock;
  superblock.uuid = superblock.seed = *uuid;
  found.sequence = TakeNumber(payload);
  superblock.version = TakeNumber(payload);
  superblock.compatible = TakeNumber(payload);
  superblock.block_size = TakeNumber(payload);
  superblock.zone_size = std::uint64_t{TakeNumber(payload)} * superblock.block_size;
  superblock.zone_count = TakeNumber(payload);
  superblock.finish_threshold_percent = TakeNumber(payload);
  superblock.aux_path = TextOf(TakeField(payload, kAuxPathBytes));
  superblock.made_by = TextOf(TakeField(payload, kVersionTextBytes));
  if (superblock.version != 1 && superblock.version != 2)
    return Corrupt(fmt::format("the superblock has an unknown version {}", superblock.version));
  const std::uint32_t block = superblock.block_size;
  if (!std::has_single_bit(block) || block < 512 || block > 65536 || superblock.zone_size == 0)
    return Corrupt(
        fmt::format("the superblock has blocks of {} bytes, and zones of {}", block, superblock.zone_size));
  return found;
}

Result<OlderRecord> DecodeOlderRecord(ByteView payload, std::uint32_t version) {
  Decoder in(payload);
  const auto tag = in.Fixed<std::uint32_t>();
  if (in.ok() && tag == kEnd) return OlderEnd{};
  const std::string_view data = in.String();
  if (!in.ok()) return Corrupt("a record that is cut short");
  switch (tag) {
    case kSnapshot: return DecodeSnapshot(data, version);
    case kDeletion: return DecodeDeletion(data);
    case kUpdate:
    case kReplacement: {
      ZENFS_ASSIGN_OR_RETURN(OlderFile file, DecodeFile(data, version));
      return OlderUpdate{.file = std::move(file), .replaces_extents = tag == kReplacement};
    }
    default: return Corrupt(fmt::format("a record of the unknown kind {}", tag));
  }
}

}  // namespace zenfs
