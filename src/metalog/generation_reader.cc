#include "metalog/generation_reader.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string GenerationReader::Here() const {
  return fmt::format("{}: metadata log generation {}, frame {} in zone {} at byte {}", device_.name(),
                     out_.generation, out_.frames, zone_.value, out_.position);
}

Error GenerationReader::Corrupt(const std::string& what) const {
  return Error(Code::kCorruption, what).With(Here());
}

Result<bool> GenerationReader::Read(const std::vector<MetazoneHead>& chain) {
  if (out_.places == 0) zone_ = chain.front().info.id;
  read_everything_ = true;
  std::size_t entered = 0;
  for (std::size_t first = 0; first < chain.size();) {
    const LogHeader& header = chain[first].header;
    std::size_t end = first + 1;
    while (end < chain.size() && chain[end].header.chain_index == header.chain_index) ++end;
    const std::span heads(chain.begin() + static_cast<std::ptrdiff_t>(first), end - first);
    first = end;
    if (header.chain_index + 1 < out_.places) {  // read to its end before
      entered += heads.size();
      continue;
    }
    if (header.chain_index >= out_.places) {
      // A missing place ends the generation, and so does the SwitchComplete.
      if (complete_ || header.chain_index != out_.places) break;
      if (out_.places != 0 && header.previous != primary_) break;
    }
    entered += heads.size();
    ZENFS_RETURN_IF_ERROR(ReadPlace(heads));
  }
  if (Status tree = out_.state.CheckMoved(); !tree.ok()) return Fail(Corrupt(tree.error().text()));
  read_everything_ = read_everything_ && entered == chain.size();
  return complete_;
}

bool GenerationReader::EnterPlace(std::span<const MetazoneHead> heads, std::vector<Copy>& copies) {
  for (Copy& copy : copies) {
    const ParsedFrame header = ParseFrame(copy.reader.View(layout_.header_at, layout_.block_size),
                                          FrameSeed::Of(superblock_.seed, copy.info.id, out_.generation, 0),
                                          layout_.block_size, layout_.block_size);
    if (!header.valid() || header.header.epoch != out_.frames) return false;  // frames before it are missing
  }
  const LogHeader& header = heads.front().header;
  zone_ = heads.front().info.id;
  primary_ = header.copy == 0 ? zone_ : header.partner;
  out_.copies = header.is_pair() ? 2 : 1;
  if (heads.size() < out_.copies) out_.lost_copies.insert(header.partner);
  for (const MetazoneHead& head : heads) out_.chain.push_back(head.info.id);
  ++out_.places;
  out_.position = layout_.frames_at;
  ++out_.frames;
  return true;
}

Result<ParsedFrame> GenerationReader::NextFrame(std::vector<Copy>& copies) {
  ParsedFrame found;
  std::vector<ZoneId> without;
  for (Copy& copy : copies) {
    ParsedFrame frame = copy.reader.FrameAt(out_.position, copy.seed);
    if (frame.valid() && frame.header.epoch == out_.frames) {
      frame = ParseFrame(copy.reader.View(out_.position, frame.header.BytesOnDevice(layout_.block_size)),
                         copy.seed, layout_.block_size, copy.reader.end() - out_.position);
    }
    if (!frame.valid() || frame.header.epoch != out_.frames) {
      without.push_back(copy.info.id);
    } else if (!found.valid()) {
      found = frame;
    } else if (!std::ranges::equal(frame.payload, found.payload) ||
               frame.header.sequence != found.header.sequence || frame.header.kind != found.header.kind) {
      return Fail(Corrupt(
          fmt::format("zone {} has another frame there; ZenFS did not write this", copy.info.id.value)));
    }
  }
  if (!found.valid()) return found;
  // A mount that was killed during its log switch has written this frame to the whole zone only.
  if (found.header.kind != FrameKind::kSwitchBegin) out_.torn_copies.clear();
  for (const ZoneId zone : without) {
    if (out_.lost_copies.insert(zone).second) out_.torn_copies.insert(zone);
  }
  return found;
}

Status GenerationReader::ReadPlace(std::span<const MetazoneHead> heads) {
  std::vector<Copy> copies;
  std::uint64_t end = 0;
  for (const MetazoneHead& head : heads) {
    copies.emplace_back(device_, head.info,
                        FrameSeed::Of(superblock_.seed, head.info.id, out_.generation, out_.salt));
    end = std::max(end, head.info.WrittenBytes());
  }
  const bool entered = heads.front().header.chain_index + 1 == out_.places;
  if (!entered && !EnterPlace(heads, copies)) {
    read_everything_ = false;
    return {};
  }
  for (const MetazoneHead& head :
       heads) {  // of a pair that was being begun, the reader may have seen one zone before
    if (std::ranges::find(out_.chain, head.info.id) != out_.chain.end()) continue;
    out_.chain.push_back(head.info.id);
    out_.lost_copies.erase(head.info.id);
  }
  out_.capacity =
      std::ranges::min(heads, {}, [](const MetazoneHead& head) { return head.info.capacity; }).info.capacity;
  if (out_.position > end) {
    return Fail(Corrupt(fmt::format("the zone now ends before it, at byte {}", end)));
  }
  while (out_.position < end) {
    ZENFS_ASSIGN_OR_RETURN(const ParsedFrame frame, NextFrame(copies));
    if (!frame.valid()) break;
    if (Status carried = Carry(frame); !carried.ok()) return Fail(carried.error().With(Here()));
    out_.position += frame.header.BytesOnDevice(layout_.block_size);
    ++out_.frames;
  }
  for (const Copy& copy : copies) read_everything_ = read_everything_ && out_.position == copy.reader.end();
  if (!complete_) return {};
  NoteTail(copies);
  return CheckTail(copies);
}

void GenerationReader::NoteTail(std::span<const Copy> copies) {
  out_.tail.clear();
  for (const Copy& copy : copies) {
    const bool writable = IsActive(copy.info.condition) || out_.position == copy.info.capacity;
    if (out_.position == copy.reader.end() && writable && !out_.lost_copies.contains(copy.info.id))
      out_.tail.push_back(copy.info.id);
  }
}

Status GenerationReader::Carry(const ParsedFrame& frame) {
  if (frame.header.kind != FrameKind::kCommit && frame.header.sequence != out_.sequence) {
    return Fail(Code::kCorruption, fmt::format("it claims to follow commit {}, but follows commit {}",
                                               frame.header.sequence, out_.sequence));
  }
  switch (frame.header.kind) {
    case FrameKind::kSnapshot:
      return DecodeList(frame.payload, [&](EditListReader& list) { return Replay(list); });
    case FrameKind::kCommit: return CarryCommit(frame);
    case FrameKind::kSwitchComplete: return CarrySwitchComplete(frame);
    case FrameKind::kSwitchBegin: {
      if (frame.payload.size() > 1) return Fail(Code::kCorruption, "a SwitchBegin of more than a byte");
      const std::uint32_t copies = DecodeSwitchBegin(frame.payload);
      out_.announced_copies = std::min(out_.announced_copies.value_or(copies), copies);
      return {};
    }
    default: return Fail(Code::kCorruption, "a frame of a kind that does not belong here");
  }
}

Status GenerationReader::Replay(EditListReader& list) {
  return out_.state.Replay([&]() -> Result<const Edit*> {
    ZENFS_ASSIGN_OR_RETURN(const Edit* edit, list.Next());
    const auto* allocated = edit == nullptr ? nullptr : std::get_if<AllocateLogZones>(edit);
    if (allocated == nullptr) return edit;
    for (const LogZone& zone : allocated->zones) {
      if (zone.zone.value < superblock_.zone_count)
        continue;  // of both devices; only one of them may be open
      return Fail(Code::kCorruption,
                  fmt::format("allocates zone {} to the log, but the volume has only {} zones",
                              zone.zone.value, superblock_.zone_count));
    }
    return edit;
  });
}

Status GenerationReader::CarryCommit(const ParsedFrame& frame) {
  if (frame.header.sequence != out_.sequence + 1) {
    return Fail(Code::kCorruption,
                frame.header.sequence <= out_.sequence
                    ? fmt::format("commit {} is there twice", frame.header.sequence)
                    : "missing: " + CommitsText(out_.sequence + 1, frame.header.sequence - 1));
  }
  ZENFS_RETURN_IF_ERROR(DecodeCommit(frame.payload, [&](EditListReader& list) -> Status {
    ++out_.sequence;
    if (Status done = Replay(list); !done.ok())
      return Fail(done.error().With(fmt::format("commit {}", out_.sequence)));
    return {};
  }));
  if (out_.sequence != frame.header.stable_sequence)
    return Fail(Code::kCorruption, "a commit frame that miscounts its commits");
  return {};
}

Status GenerationReader::CarrySwitchComplete(const ParsedFrame& frame) {
  ZENFS_ASSIGN_OR_RETURN(const SwitchComplete record, DecodeSwitchComplete(frame.payload));
  if (complete_ || record.frames != out_.frames || record.sequence != out_.sequence ||
      record.chain_index + 1 != out_.places) {
    return Fail(Code::kCorruption,
                fmt::format("it claims to follow commit {} and frame {}, but replay ended at commit {}",
                            record.sequence, record.frames, out_.sequence));
  }
  complete_ = true;
  return {};
}

// After the SwitchComplete, each frame is durable before the next one is written. So a valid frame after an invalid one
// proves that the invalid one was durable.
Status GenerationReader::CheckTail(std::vector<Copy>& copies) {
  for (Copy& copy : copies) {
    for (std::uint64_t at = copy.reader.SkipZeros(out_.position); at < copy.reader.end();
         at = copy.reader.SkipZeros(at + layout_.block_size)) {
      const ParsedFrame frame = copy.reader.FrameAt(at, copy.seed);
      if (!frame.valid() || frame.header.epoch < out_.frames) continue;
      const std::uint64_t last =
          frame.header.kind == FrameKind::kCommit ? frame.header.sequence - 1 : frame.header.sequence;
      return Fail(Corrupt("it cannot be read, but later frames can: " +
                          (last > out_.sequence ? CommitsText(out_.sequence + 1, last) + " may be missing"
                                                : std::string("no commit is missing between them"))));
    }
  }
  return {};
}

std::string CommitsText(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("commit {}", first) : fmt::format("commits {} to {}", first, last);
}

}  // namespace zenfs
