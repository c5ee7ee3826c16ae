#include "format/metalog_payload.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/coding.h"
#include "format/edit_codec.h"

namespace zenfs {

std::string EncodeLogHeader(const LogHeader& header) {
  std::string out;
  PutFixed(out, header.generation);
  PutFixed(out, header.salt);
  PutFixed(out, header.chain_index);
  PutFixed(out, header.previous.value);
  PutFixed(out, header.base_sequence);
  if (!header.is_pair() && header.added.empty()) return out;
  PutFixed(out, header.copy);
  PutFixed(out, header.partner.value);
  for (const ZoneId zone : header.added) PutFixed(out, zone.value);
  return out;
}

Result<LogHeader> DecodeLogHeader(ByteView payload) {
  Decoder in(payload);
  LogHeader header;
  header.generation = in.Fixed<std::uint64_t>();
  header.salt = in.Fixed<std::uint64_t>();
  header.chain_index = in.Fixed<std::uint32_t>();
  header.previous = ZoneId(in.Fixed<std::uint32_t>());
  header.base_sequence = in.Fixed<std::uint64_t>();
  if (in.ok() && !in.AtEnd()) {
    header.copy = in.Fixed<std::uint32_t>();
    header.partner = ZoneId(in.Fixed<std::uint32_t>());
    if (header.copy > 1) return Fail(Code::kCorruption, "a log header of a third copy");
    while (in.ok() && !in.AtEnd()) header.added.emplace_back(in.Fixed<std::uint32_t>());
    if (!std::ranges::is_sorted(header.added, std::ranges::less_equal()))
      return Fail(Code::kCorruption, "a log header that names zones out of order");
  }
  if (!in.ok() || !in.AtEnd()) return Fail(Code::kCorruption, "a log header of invalid length");
  if (std::max(header.generation, header.base_sequence) >= kNumbersEnd) {
    return Fail(Code::kCorruption, "a log header with numbers higher than any writer counts");
  }
  return header;
}

std::string EncodeSwitchBegin(std::uint32_t copies) { return copies == 1 ? "" : std::string(1, '\2'); }

std::uint32_t DecodeSwitchBegin(ByteView payload) { return payload.empty() ? 1 : 2; }

std::string EncodeSwitchComplete(const SwitchComplete& complete) {
  std::string out;
  PutFixed(out, complete.salt);
  PutFixed(out, complete.frames);
  PutFixed(out, complete.sequence);
  PutFixed(out, complete.chain_index);
  return out;
}

Result<SwitchComplete> DecodeSwitchComplete(ByteView payload) {
  Decoder in(payload);
  SwitchComplete complete;
  complete.salt = in.Fixed<std::uint64_t>();
  complete.frames = in.Fixed<std::uint64_t>();
  complete.sequence = in.Fixed<std::uint64_t>();
  complete.chain_index = in.Fixed<std::uint32_t>();
  if (!in.ok() || !in.AtEnd()) return Fail(Code::kCorruption, "a SwitchComplete of invalid length");
  return complete;
}

namespace {

// Reads a header without verifying it. The seed that verifies it is computed from its fields.
std::optional<FrameHeader> Peek(ByteView bytes, FrameKind kind) {
  FrameHeader header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kFrameMagic || header.kind != kind || header.header_bytes != kFrameHeaderBytes ||
      bytes.size() - sizeof header < header.payload_bytes) {
    return std::nullopt;
  }
  return header;
}

constexpr std::size_t kLogHeaderBytes = 32;
constexpr std::size_t kPairHeaderBytes = 40;
constexpr std::size_t kSwitchCompleteBytes = 28;

std::optional<FrameHeader> PeekLogHeader(ByteView bytes) {
  const auto header = Peek(bytes, FrameKind::kLogHeader);
  if (!header || header->payload_bytes == kLogHeaderBytes) return header;
  constexpr std::size_t kMost = kPairHeaderBytes + kMaxAddedZones * sizeof(std::uint32_t);
  const std::size_t bytes_of_payload = header->payload_bytes;
  const bool possible = bytes_of_payload >= kPairHeaderBytes && bytes_of_payload <= kMost &&
                        IsMultiple(bytes_of_payload, sizeof(std::uint32_t));
  return possible ? header : std::nullopt;
}

}  // namespace

std::optional<LogHeader> FindLogHeader(ByteView bytes, const Uuid& volume, ZoneId zone,
                                       std::uint32_t block_size) {
  const auto claimed = PeekLogHeader(bytes);
  if (!claimed) return std::nullopt;
  const FrameSeed seed = FrameSeed::Of(volume, zone, claimed->file_offset, 0);
  const ParsedFrame parsed = ParseFrame(bytes, seed, block_size, bytes.size());
  if (!parsed.valid()) return std::nullopt;
  const auto header = DecodeLogHeader(parsed.payload);
  if (!header || header->generation != claimed->file_offset) return std::nullopt;
  return *header;
}

std::optional<FoundSwitchComplete> FindSwitchComplete(ByteView bytes, const Uuid& volume, ZoneId zone,
                                                      std::uint32_t block_size) {
  const auto claimed = Peek(bytes, FrameKind::kSwitchComplete);
  if (!claimed || claimed->payload_bytes != kSwitchCompleteBytes) return std::nullopt;
  const auto complete = DecodeSwitchComplete(bytes.subspan(kFrameHeaderBytes, kSwitchCompleteBytes));
  if (!complete) return std::nullopt;
  const FrameSeed seed = FrameSeed::Of(volume, zone, claimed->file_offset, complete->salt);
  if (!ParseFrame(bytes, seed, block_size, bytes.size()).valid()) return std::nullopt;
  return FoundSwitchComplete{.complete = *complete, .generation = claimed->file_offset};
}

bool LooksLikeLogHeader(ByteView bytes) { return PeekLogHeader(bytes).has_value(); }

std::string EncodeCommit(std::span<const std::string* const> members) {
  std::string out;
  PutVarint(out, members.size());
  for (const std::string* member : members) out.append(*member);
  return out;
}

Status DecodeCommit(ByteView payload, const std::function<Status(EditListReader&)>& member) {
  Decoder in(payload);
  const std::uint64_t count = in.Count(kMinCommitBytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    EditListReader list(in);
    if (list.count() == 0) return Fail(Code::kCorruption, "a commit without edits");
    ZENFS_RETURN_IF_ERROR(member(list));
  }
  if (!in.ok() || !in.AtEnd()) return Fail(Code::kCorruption, "a commit frame of invalid length");
  return {};
}

}  // namespace zenfs
