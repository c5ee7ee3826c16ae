// Payloads of the metadata log's own frames. docs/formats/metadata-log.md has the layout of the
// log. Errors of all decoders: kCorruption; kNotSupported for edits with an unknown tag.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "format/edit_codec.h"
#include "format/frame.h"

namespace zenfs {

inline constexpr ZoneId kNoZone{0xffffffff};
// Most zones that a log header names besides those of the superblock. It fits a block of 512 bytes.
inline constexpr std::size_t kMaxAddedZones = 64;

// The first frame of each zone of the metadata log. Sealed with salt 0, because it contains the
// salt of all other frames in its zone.
struct LogHeader {
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;           // random, the same in all zones of a chain
  std::uint32_t chain_index = 0;    // 0: first zone of the generation
  ZoneId previous = kNoZone;        // previous zone of the chain; of a pair: its copy 0
  std::uint64_t base_sequence = 0;  // last commit in the snapshot
  // If each place of the chain is a pair of zones with the same frames: which of the two this is, 0 or 1, and the other one.
  std::uint32_t copy = 0;
  ZoneId partner = kNoZone;
  // The metadata zones of the volume besides those of the superblock, in ascending order; the same in all zones of a chain.
  std::vector<ZoneId> added;

  bool is_pair() const { return partner != kNoZone; }
  // A zone that holds nothing but a copy of the superblock.
  bool is_spare() const { return generation == 0; }

  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

// Proves that its generation is durable up to this frame. Contains its own salt, so that it can be
// recognized in a zone whose first blocks are damaged.
struct SwitchComplete {
  std::uint64_t salt = 0;
  std::uint64_t frames = 0;    // number of frames of the generation before this one
  std::uint64_t sequence = 0;  // last commit before this frame
  std::uint32_t chain_index = 0;

  friend bool operator==(const SwitchComplete&, const SwitchComplete&) = default;
};

[[nodiscard]] std::string EncodeLogHeader(const LogHeader& header);
[[nodiscard]] Result<LogHeader> DecodeLogHeader(ByteView payload);

// A SwitchBegin: in how many zones at a time the next generation is written, 1 or 2.
[[nodiscard]] std::string EncodeSwitchBegin(std::uint32_t copies);
// Takes any bytes.
[[nodiscard]] std::uint32_t DecodeSwitchBegin(ByteView payload);

[[nodiscard]] std::string EncodeSwitchComplete(const SwitchComplete& complete);
[[nodiscard]] Result<SwitchComplete> DecodeSwitchComplete(ByteView payload);

// Returns the log header at the front of `bytes` (after the superblock), if it is a valid one of
// this volume and zone. The seed depends on the generation, which is read from the frame; the CRC
// then proves it.
[[nodiscard]] std::optional<LogHeader> FindLogHeader(ByteView bytes, const Uuid& volume, ZoneId zone,
                                                     std::uint32_t block_size);

// A SwitchComplete with its generation, found in the same way.
struct FoundSwitchComplete {
  SwitchComplete complete;
  std::uint64_t generation = 0;
};
[[nodiscard]] std::optional<FoundSwitchComplete> FindSwitchComplete(ByteView bytes, const Uuid& volume,
                                                                    ZoneId zone, std::uint32_t block_size);

// Returns true if the bytes look like a log header of any volume. Does not check the CRC.
[[nodiscard]] bool LooksLikeLogHeader(ByteView bytes);

// A commit has an edit at least: a count, a tag and a length. Millions of empty ones would be zeros, so a hole of an image.
inline constexpr std::uint64_t kMinCommitBytes = 3;

// A commit frame: varint count, then one list of edits for each grouped commit. `members`: lists
// made by EncodeEdits.
[[nodiscard]] std::string EncodeCommit(std::span<const std::string* const> members);
// Gives `member` the list of each, in order. It must read the list to its end, or return an error, which ends the decoding.
[[nodiscard]] Status DecodeCommit(ByteView payload, const std::function<Status(EditListReader&)>& member);

}  // namespace zenfs
