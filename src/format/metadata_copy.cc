#include "format/metadata_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/coding.h"
#include "base/crc32c.h"
#include "format/superblock.h"

namespace zenfs {
namespace {

constexpr std::string_view kCopyMagic = "ZNFSMETA";
constexpr std::size_t kCrcAt = 12;  // after magic and version; covers the bytes after it
constexpr std::size_t kZonesAt = 128;
constexpr std::size_t kZoneBytes = 32;
static_assert(kZonesAt + kMaxMetadataZones * kZoneBytes <= kMetadataCopyHeadBytes);

Uuid TakeUuid(Decoder& in) {
  Uuid uuid;
  for (std::uint8_t& byte : uuid.bytes) byte = in.Fixed<std::uint8_t>();
  return uuid;
}

Result<std::vector<CopiedZone>> TakeZones(Decoder& in, std::uint32_t count, const MetadataCopy& copy) {
  std::vector<CopiedZone> zones;
  for (std::uint32_t i = 0; i < count; ++i) {
    CopiedZone zone{.zone = ZoneId(in.Fixed<std::uint32_t>()),
                    .condition = in.Fixed<std::uint32_t>(),
                    .bytes = in.Fixed<std::uint64_t>(),
                    .crc = in.Fixed<std::uint32_t>(),
                    .unreadable = in.Fixed<std::uint32_t>()};
    static_cast<void>(in.Fixed<std::uint64_t>());
    const bool ascending = zones.empty() || zones.back().zone < zone.zone;
    if (!ascending || zone.zone.value >= copy.zone_count || zone.condition > kHighestCondition ||
        zone.bytes > copy.zone_size || !IsMultiple(zone.bytes, copy.block_size)) {
      return Fail(Code::kCorruption, fmt::format("its entry of zone {} is invalid", zone.zone.value));
    }
    zones.push_back(zone);
  }
  return zones;
}

}  // namespace

std::string EncodeMetadataCopy(const MetadataCopy& copy) {
  std::string body;
  PutFixed(body, static_cast<std::uint32_t>(copy.zones.size()));
  PutFixed(body, copy.block_size);
  PutFixed(body, copy.zone_count);
  PutFixed(body, copy.zone_size);
  PutFixed(body, copy.made_seconds);
  PutFixed(body, copy.highest_sequence);
  PutFixed(body, copy.next_generation);
  PutFixed(body, copy.repaired_sequence);
  body.append(AsText(std::as_bytes(std::span(copy.uuid.bytes))));
  body.append(AsText(std::as_bytes(std::span(copy.seed.bytes))));
  body.resize(kMetadataCopyHeadBytes - kCrcAt - sizeof(std::uint32_t), '\0');
  std::string zones;
  for (const CopiedZone& zone : copy.zones) {
    PutFixed(zones, zone.zone.value);
    PutFixed(zones, zone.condition);
    PutFixed(zones, zone.bytes);
    PutFixed(zones, zone.crc);
    PutFixed(zones, zone.unreadable);
    PutFixed(zones, std::uint64_t{0});
  }
  body.replace(kZonesAt - kCrcAt - sizeof(std::uint32_t), zones.size(), zones);
  std::string head(kCopyMagic);
  PutFixed(head, kMetadataCopyVersion);
  PutFixed(head, Crc32c(AsBytes(body)));
  return head + body;
}

Result<MetadataCopy> DecodeMetadataCopy(ByteView head) {
  if (head.size() < kMetadataCopyHeadBytes || AsText(head.first(kCopyMagic.size())) != kCopyMagic) {
    return Fail(Code::kInvalidArgument, "this is not a copy of metadata that zenfs check --repair made");
  }
  Decoder front(head.subspan(kCopyMagic.size()));
  const auto version = front.Fixed<std::uint32_t>();
  const auto crc = front.Fixed<std::uint32_t>();
  const ByteView body =
      head.subspan(kCrcAt + sizeof(std::uint32_t), kMetadataCopyHeadBytes - kCrcAt - sizeof(std::uint32_t));
  if (version != kMetadataCopyVersion) {
    return Fail(Code::kNotSupported, fmt::format("its version is {}; this program knows version {} only",
                                                 version, kMetadataCopyVersion));
  }
  if (Crc32c(body) != crc) return Fail(Code::kCorruption, "its head is damaged (the CRC does not match)");
  Decoder in(body);
  MetadataCopy copy;
  const auto count = in.Fixed<std::uint32_t>();
  copy.block_size = in.Fixed<std::uint32_t>();
  copy.zone_count = in.Fixed<std::uint32_t>();
  copy.zone_size = in.Fixed<std::uint64_t>();
  copy.made_seconds = in.Fixed<std::uint64_t>();
  copy.highest_sequence = in.Fixed<std::uint64_t>();
  copy.next_generation = in.Fixed<std::uint64_t>();
  copy.repaired_sequence = in.Fixed<std::uint64_t>();
  copy.uuid = TakeUuid(in);
  copy.seed = TakeUuid(in);
  if (count > kMaxMetadataZones || copy.block_size == 0)
    return Fail(Code::kCorruption, "its head is invalid");
  Decoder table(body.subspan(kZonesAt - kCrcAt - sizeof(std::uint32_t)));
  ZENFS_ASSIGN_OR_RETURN(copy.zones, TakeZones(table, count, copy));
  return copy;
}

}  // namespace zenfs
