// Payloads of the metadata log's own frames; docs/formats/metadata-log.md has them in their places.
// Errors of all decoders: kCorruption; kNotSupported for edits with an unknown tag.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "format/frame.h"
#include "model/edit.h"

namespace zenfs {

inline constexpr ZoneId kNoZone{0xffffffff};

// First frame of each zone of the metadata log. Sealed with salt 0, since it is what tells the salt of all
// other frames in its zone.
struct LogHeader {
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;           // random, the same in all zones of a chain
  std::uint32_t chain_index = 0;    // 0: the generation begins here
  ZoneId previous = kNoZone;        // zone of the chain before this one
  std::uint64_t base_sequence = 0;  // the snapshot is as of this commit

  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

// Proves that all of its generation before it is durable. Tells its own salt, so that it can be recognized in
// a zone whose first blocks are damaged.
struct RollComplete {
  std::uint64_t salt = 0;
  std::uint64_t frames = 0;    // of the generation before this one, over all zones of the chain
  std::uint64_t sequence = 0;  // last commit before this frame
  std::uint32_t chain_index = 0;

  friend bool operator==(const RollComplete&, const RollComplete&) = default;
};

[[nodiscard]] std::string EncodeLogHeader(const LogHeader& header);
[[nodiscard]] Result<LogHeader> DecodeLogHeader(ByteView payload);

[[nodiscard]] std::string EncodeRollComplete(const RollComplete& complete);
[[nodiscard]] Result<RollComplete> DecodeRollComplete(ByteView payload);

// The log header at the front of `bytes` (which begin behind the superblock), if a valid one of this volume
// and zone stands there. The seed depends on the generation, which is taken from the frame and then proven.
[[nodiscard]] std::optional<LogHeader> FindLogHeader(ByteView bytes, const Uuid& volume, ZoneId zone,
                                                     std::uint32_t block_size);

// The same for a RollComplete, with its generation.
struct FoundRollComplete {
  RollComplete complete;
  std::uint64_t generation = 0;
};
[[nodiscard]] std::optional<FoundRollComplete> FindRollComplete(ByteView bytes, const Uuid& volume,
                                                                ZoneId zone, std::uint32_t block_size);

// Whether a log header seems to stand there, of whatever volume: nothing is proven.
[[nodiscard]] bool LooksLikeLogHeader(ByteView bytes);

// A commit frame: varint count, then one list of edits for each grouped commit.
// `members` are lists as EncodeEdits made them.
[[nodiscard]] std::string EncodeCommit(std::span<const std::string* const> members);
[[nodiscard]] Result<std::vector<std::vector<Edit>>> DecodeCommit(ByteView payload);

}  // namespace zenfs
