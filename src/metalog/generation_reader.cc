#include "metalog/generation_reader.h"

#include <fmt/format.h>

#include "format/edit_codec.h"

namespace zenfs {

GenerationReader::GenerationReader(ZonedDevice& device, const Superblock& superblock, const LogHeader& first)
    : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {
  out_.generation = first.generation;
  out_.salt = first.salt;
  out_.sequence = first.base_sequence;
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

Result<bool> GenerationReader::Read(const std::vector<MetazoneHead>& chain) {
  if (out_.chain.empty()) zone_ = chain.front().info.id;
  read_everything_ = true;
  std::size_t entered = 0;
  for (const MetazoneHead& head : chain) {
    const std::size_t index = head.header.chain_index;
    if (index < out_.chain.size()) {
      ++entered;
      if (index + 1 < out_.chain.size()) continue;  // read to its end before
    } else {
      // A missing zone ends the generation, and so does the SwitchComplete.
      if (complete_ || index != out_.chain.size()) break;
      if (!out_.chain.empty() && head.header.previous != out_.chain.back()) break;
      ++entered;
    }
    ZENFS_RETURN_IF_ERROR(ReadZone(head));
  }
  read_everything_ = read_everything_ && entered == chain.size();
  return complete_;
}

bool GenerationReader::EnterZone(const MetazoneHead& head, ZoneReader& reader) {
  const ParsedFrame header = ParseFrame(reader.View(layout_.header_at, layout_.block_size),
                                        FrameSeed::Of(superblock_.seed, head.info.id, out_.generation, 0),
                                        layout_.block_size, layout_.block_size);
  if (!header.valid() || header.header.epoch != out_.frames) return false;  // frames before it are missing
  zone_ = head.info.id;
  seed_ = FrameSeed::Of(superblock_.seed, zone_, out_.generation, out_.salt);
  out_.chain.push_back(zone_);
  out_.position = layout_.frames_at;
  ++out_.frames;
  return true;
}

ParsedFrame GenerationReader::FrameAt(std::uint64_t at, ZoneReader& reader) const {
  const std::uint64_t limit = reader.end() - at;
  ParsedFrame frame = ParseFrame(reader.View(at, layout_.block_size), seed_, layout_.block_size, limit);
  if (frame.verdict == FrameVerdict::kTooShort) {
    frame = ParseFrame(reader.View(at, frame.needed), seed_, layout_.block_size, limit);
  }
  return frame;
}

Status GenerationReader::ReadZone(const MetazoneHead& head) {
  ZoneReader reader(device_, head.info.id, head.info.WrittenBytes());
  const bool entered = !out_.chain.empty() && out_.chain.back() == head.info.id;
  if (!entered && !EnterZone(head, reader)) {
    read_everything_ = false;
    return {};
  }
  out_.capacity = head.info.capacity;
  if (out_.position > reader.end()) {
    return Fail(Corrupt(fmt::format("the zone now ends before it, at byte {}", reader.end())));
  }
  while (out_.position < reader.end()) {
    const ParsedFrame frame = FrameAt(out_.position, reader);
    if (!frame.valid() || frame.header.epoch != out_.frames) break;
    ZENFS_RETURN_IF_ERROR(Carry(frame));
    out_.position += frame.header.BytesOnDevice(layout_.block_size);
    ++out_.frames;
  }
  read_everything_ = read_everything_ && out_.position == reader.end();
  if (!complete_) return {};
  const bool writable = IsActive(head.info.condition);
  out_.tail_is_clean = out_.position == reader.end() && (writable || out_.position == out_.capacity);
  return CheckTail(reader);
}

Status GenerationReader::Carry(const ParsedFrame& frame) {
  if (frame.header.kind != FrameKind::kCommit && frame.header.sequence != out_.sequence) {
    return Fail(Corrupt(fmt::format("it claims to follow commit {}, but follows commit {}",
                                    frame.header.sequence, out_.sequence)));
  }
  switch (frame.header.kind) {
    case FrameKind::kSnapshot: {
      const auto edits = DecodeEdits(frame.payload);
      if (!edits) return Fail(edits.error());
      if (Status done = out_.state.Apply(*edits); !done.ok()) return Fail(Corrupt(done.error().text()));
      return {};
    }
    case FrameKind::kCommit: return CarryCommit(frame);
    case FrameKind::kSwitchComplete: return CarrySwitchComplete(frame);
    case FrameKind::kSwitchBegin: out_.doubt = "a log switch had begun"; return {};
    default: return Fail(Corrupt("a frame of a kind that does not belong here"));
  }
}

Status GenerationReader::CarryCommit(const ParsedFrame& frame) {
  if (frame.header.sequence != out_.sequence + 1) {
    return Fail(Corrupt(frame.header.sequence <= out_.sequence
                            ? fmt::format("commit {} is there twice", frame.header.sequence)
                            : "missing: " + CommitsText(out_.sequence + 1, frame.header.sequence - 1)));
  }
  const auto members = DecodeCommit(frame.payload);
  if (!members) return Fail(members.error());
  for (const std::vector<Edit>& edits : *members) {
    ++out_.sequence;
    if (Status done = out_.state.Apply(edits); !done.ok()) {
      return Fail(Corrupt(fmt::format("commit {}: {}", out_.sequence, done.error().text())));
    }
  }
  if (out_.sequence != frame.header.stable_sequence)
    return Fail(Corrupt("a commit frame that miscounts its commits"));
  return {};
}

Status GenerationReader::CarrySwitchComplete(const ParsedFrame& frame) {
  const auto record = DecodeSwitchComplete(frame.payload);
  if (!record) return Fail(record.error());
  if (complete_ || record->frames != out_.frames || record->sequence != out_.sequence ||
      record->chain_index + 1 != out_.chain.size()) {
    return Fail(
        Corrupt(fmt::format("it claims to follow commit {} and frame {}, but replay ended at commit {}",
                            record->sequence, record->frames, out_.sequence)));
  }
  complete_ = true;
  return {};
}

// After the SwitchComplete, each frame is durable before the next one is written. So a valid frame after an invalid one
// proves that the invalid one was durable.
Status GenerationReader::CheckTail(ZoneReader& reader) {
  for (std::uint64_t at = out_.position; at < reader.end(); at += layout_.block_size) {
    const ParsedFrame frame = FrameAt(at, reader);
    if (!frame.valid() || frame.header.epoch < out_.frames) continue;
    const std::uint64_t last =
        frame.header.kind == FrameKind::kCommit ? frame.header.sequence - 1 : frame.header.sequence;
    return Fail(Corrupt("it cannot be read, but later frames can: " +
                        (last > out_.sequence ? CommitsText(out_.sequence + 1, last) + " may be missing"
                                              : std::string("no commit is missing between them"))));
  }
  return {};
}

std::string CommitsText(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("commit {}", first) : fmt::format("commits {} to {}", first, last);
}

}  // namespace zenfs
