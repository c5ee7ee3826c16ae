#include "metalog/generation_reader.h"

#include <fmt/format.h>

#include "format/edit_codec.h"

namespace zenfs {

GenerationReader::GenerationReader(ZonedDevice& device, const Superblock& superblock,
                                   const std::vector<MetazoneHead>& chain)
    : device_(device), superblock_(superblock), layout_(device.geometry().block_size), chain_(chain) {
  out_.generation = chain.front().header.generation;
  out_.salt = chain.front().header.salt;
  out_.sequence = chain.front().header.base_sequence;
}

std::string GenerationReader::where_it_ended() const {
  return fmt::format("its frame {} in zone {} at byte {} cannot be read", out_.frames, zone_.value,
                     out_.position);
}

Error GenerationReader::Corrupt(const std::string& what) const {
  return Error(Code::kCorruption,
               fmt::format("{}: metadata log generation {}, frame {} in zone {} at byte {}: {}",
                           device_.name(), out_.generation, out_.frames, zone_.value, out_.position, what));
}

Result<bool> GenerationReader::Read() {
  zone_ = chain_.front().info.id;
  for (const MetazoneHead& head : chain_) {
    // A zone of the chain that is missing, or stands behind the RollComplete, ends the generation.
    if (complete_ || head.header.chain_index != out_.chain.size()) break;
    if (!out_.chain.empty() && head.header.previous != out_.chain.back()) break;
    ZENFS_RETURN_IF_ERROR(ReadZone(head));
  }
  return complete_;
}

Status GenerationReader::ReadZone(const MetazoneHead& head) {
  ZoneReader reader(device_, head.info.id, head.info.WrittenBytes());
  const ParsedFrame header = ParseFrame(reader.View(layout_.header_at, layout_.block_size),
                                        FrameSeed::Of(superblock_.seed, head.info.id, out_.generation, 0),
                                        layout_.block_size, layout_.block_size);
  if (!header.valid() || header.header.epoch != out_.frames) return {};  // frames before it are missing
  zone_ = head.info.id;
  out_.chain.push_back(zone_);
  out_.capacity = head.info.capacity;
  out_.position = layout_.frames_at;
  ++out_.frames;

  const FrameSeed seed = FrameSeed::Of(superblock_.seed, zone_, out_.generation, out_.salt);
  while (out_.position < reader.end()) {
    const std::uint64_t limit = reader.end() - out_.position;
    ParsedFrame frame =
        ParseFrame(reader.View(out_.position, layout_.block_size), seed, layout_.block_size, limit);
    if (frame.verdict == FrameVerdict::kTooShort) {
      frame = ParseFrame(reader.View(out_.position, frame.needed), seed, layout_.block_size, limit);
    }
    if (!frame.valid() || frame.header.epoch != out_.frames) break;
    ZENFS_RETURN_IF_ERROR(Carry(frame));
    out_.position += frame.header.BytesOnDevice(layout_.block_size);
    ++out_.frames;
  }
  if (!complete_) return {};
  const bool writable = IsActive(head.info.condition);
  out_.tail_is_clean = out_.position == reader.end() && (writable || out_.position == out_.capacity);
  return CheckTail(head, reader);
}

Status GenerationReader::Carry(const ParsedFrame& frame) {
  switch (frame.header.kind) {
    case FrameKind::kSnapshot: {
      const auto edits = DecodeEdits(frame.payload);
      if (!edits) return Fail(edits.error());
      if (Status done = out_.state.Apply(*edits); !done) return Fail(Corrupt(done.error().text()));
      return {};
    }
    case FrameKind::kCommit: return CarryCommit(frame);
    case FrameKind::kRollComplete: return CarryRollComplete(frame);
    case FrameKind::kRollBegin: out_.doubt = "a roll had begun"; return {};
    default: return Fail(Corrupt("a frame of a kind that does not belong here"));
  }
}

Status GenerationReader::CarryCommit(const ParsedFrame& frame) {
  if (frame.header.sequence != out_.sequence + 1) {
    return Fail(
        Corrupt(fmt::format("commits {} to {} are missing", out_.sequence + 1, frame.header.sequence - 1)));
  }
  const auto members = DecodeCommit(frame.payload);
  if (!members) return Fail(members.error());
  for (const std::vector<Edit>& edits : *members) {
    ++out_.sequence;
    if (Status done = out_.state.Apply(edits); !done) {
      return Fail(Corrupt(fmt::format("commit {}: {}", out_.sequence, done.error().text())));
    }
  }
  if (out_.sequence != frame.header.stable_sequence)
    return Fail(Corrupt("a commit frame that miscounts its commits"));
  return {};
}

Status GenerationReader::CarryRollComplete(const ParsedFrame& frame) {
  const auto record = DecodeRollComplete(frame.payload);
  if (!record) return Fail(record.error());
  if (complete_ || record->frames != out_.frames || record->sequence != out_.sequence ||
      record->chain_index + 1 != out_.chain.size()) {
    return Fail(Corrupt(fmt::format("its end was at commit {}, frame {}, but replay came to commit {}",
                                    record->sequence, record->frames, out_.sequence)));
  }
  complete_ = true;
  return {};
}

// Each frame behind the RollComplete is durable before the next one is written. So one that is valid behind
// an invalid one proves that the invalid one had been durable.
Status GenerationReader::CheckTail(const MetazoneHead& head, ZoneReader& reader) {
  const FrameSeed seed = FrameSeed::Of(superblock_.seed, head.info.id, out_.generation, out_.salt);
  for (std::uint64_t at = out_.position; at < reader.end(); at += layout_.block_size) {
    const std::uint64_t limit = reader.end() - at;
    ParsedFrame frame = ParseFrame(reader.View(at, layout_.block_size), seed, layout_.block_size, limit);
    if (frame.verdict == FrameVerdict::kTooShort) {
      frame = ParseFrame(reader.View(at, frame.needed), seed, layout_.block_size, limit);
    }
    if (!frame.valid() || frame.header.epoch < out_.frames) continue;
    const std::uint64_t last =
        frame.header.kind == FrameKind::kCommit ? frame.header.sequence - 1 : frame.header.sequence;
    return Fail(
        Corrupt(fmt::format("it cannot be read, but later frames can: commits {} to {} may be missing",
                            out_.sequence + 1, last)));
  }
  return {};
}

}  // namespace zenfs
