#include "metalog/metadata_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/zeros.h"
#include "device/presence.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"
#include "metalog/zone_reader.h"

namespace zenfs {

// --- one zone ---

namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;

// Returns false for frames that no writer makes. Commits are numbered from 1.
bool IsPossible(const MetadataFrame& frame) {
  if (std::max({frame.ordinal, frame.last_sequence, frame.of.generation}) >= kNumbersEnd) return false;
  if (frame.kind != FrameKind::kCommit) return true;
  return frame.first_sequence != 0 && frame.first_sequence <= frame.last_sequence &&
         frame.last_sequence - frame.first_sequence < frame.bytes / kMinCommitBytes;
}

class ZoneScan {
 public:
  ZoneScan(ZonedDevice& device, const Superblock& superblock, const ZoneInfo& info,
           std::set<GenerationKey> keys)
      : device_(device),
        superblock_(superblock),
        layout_(device.geometry().block_size),
        start_(info.start),
        reader_(device, info.id, info.WrittenBytes()),
        keys_(std::move(keys)) {
    out_.zone = info.id;
    out_.written = info.WrittenBytes();
  }

  MetazoneScan Run() {
    LookAtSuperblock();
    if (out_.written < layout_.frames_at) return std::move(out_);
    out_.header = FindLogHeader(reader_.View(layout_.header_at, layout_.frames_at - layout_.header_at),
                                superblock_.seed, out_.zone, layout_.block_size);
    if (out_.header && out_.header->is_spare()) return std::move(out_);
    if (out_.header) keys_ = {{out_.header->generation, out_.header->salt}};
    WalkFrames();
    return std::move(out_);
  }

 private:
  void LookAtSuperblock() {
    AlignedBuffer buffer(RoundUp(kSuperblockBytes, layout_.block_size));
    buffer.Resize(std::min<std::uint64_t>(buffer.capacity(), out_.written));
    if (const Status read = device_.Read(start_, buffer.Span()); !read.ok()) {
      out_.superblock = read.error();
      return;
    }
    const Result<Superblock> copy = DecodeSuperblock(buffer.View());
    if (!copy) {
      out_.superblock = copy.error();
    } else {
      out_.superblock_differs = *copy != superblock_;
    }
  }

  // The frame at `at`, if it is valid for one of the keys.
  std::optional<MetadataFrame> FrameAt(std::uint64_t at) {
    for (const GenerationKey& key : keys_) {
      const FrameSeed seed = FrameSeed::Of(superblock_.seed, out_.zone, key.generation, key.salt);
      const ParsedFrame frame = reader_.FrameAt(at, seed);
      if (frame.verdict == FrameVerdict::kNotAFrame) return std::nullopt;
      const FrameHeader& header = frame.header;
      if (!frame.valid() || header.file_offset != key.generation) continue;
      const MetadataFrame scanned{
          .zone = out_.zone,
          .at = at,
          .bytes = header.BytesOnDevice(layout_.block_size),
          .payload_at = at + header.header_bytes,
          .kind = header.kind,
          .ordinal = header.epoch,
          .first_sequence = header.sequence,
          .last_sequence = header.kind == FrameKind::kCommit ? header.stable_sequence : header.sequence,
          .of = key};
      if (IsPossible(scanned)) return scanned;
    }
    return std::nullopt;
  }

  void WalkFrames() {
    MetazoneScan::Gap gap;              // 0 bytes: no gap
    std::optional<std::uint64_t> next;  // ordinal of the next frame; unknown before the zone's first frame
    for (std::uint64_t at = layout_.frames_at; at < reader_.end();) {
      const std::optional<MetadataFrame> frame = FrameAt(at);
      if (!frame) {
        if (gap.bytes == 0) gap = MetazoneScan::Gap{.at = at};
        at = Extend(gap, at);
        continue;
      }
      if (gap.bytes != 0) {
        gap.inside = true;
        gap.last_frame = std::max(frame->ordinal, std::uint64_t{1}) - 1;
        gap.first_frame = next.value_or(gap.last_frame);
        Add(gap);
        gap = {};
      }
      out_.frames.push_back(*frame);
      next = frame->ordinal + 1;
      at += frame->bytes;
    }
    if (gap.bytes != 0) Add(gap);
  }

  // Adds the block at `at`, and known zeros behind it. Returns where the gap ends now.
  std::uint64_t Extend(MetazoneScan::Gap& gap, std::uint64_t at) {
    const ByteView block = reader_.View(at, layout_.block_size).first(layout_.block_size);
    gap.empty = gap.empty && IsZeros(block);
    const std::uint64_t end = reader_.SkipZeros(at + layout_.block_size);
    gap.bytes += end - at;
    return end;
  }

  void Add(MetazoneScan::Gap gap) {
    if (gap.empty) gap.unreadable = !CanRead(gap);  // ZoneReader returns zeros for unreadable blocks
    out_.gaps.push_back(gap);
  }

  bool CanRead(const MetazoneScan::Gap& gap) {
    AlignedBuffer piece(std::min(kPieceBytes, gap.bytes));
    for (std::uint64_t done = 0; done < gap.bytes;) {
      const DeviceOffset at = start_ + gap.at + done;
      const std::uint64_t zeros = device_.KnownZeros(at, gap.bytes - done);
      if (zeros == 0) {
        piece.Resize(std::min(kPieceBytes, gap.bytes - done));
        if (!device_.Read(at, piece.Span()).ok()) return false;
      }
      done += zeros != 0 ? zeros : piece.size();
    }
    return true;
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  const DeviceOffset start_;
  ZoneReader reader_;
  std::set<GenerationKey> keys_;
  MetazoneScan out_;
};

}  // namespace

bool MetazoneScan::IsComplete() const {
  return std::ranges::find(frames, FrameKind::kSwitchComplete, &MetadataFrame::kind) != frames.end();
}

MetazoneScan ScanMetazone(ZonedDevice& device, const Superblock& superblock, const ZoneInfo& info,
                          const std::set<GenerationKey>& keys) {
  return ZoneScan(device, superblock, info, keys).Run();
}

// --- all metadata zones ---

namespace {

class MetadataScanner {
 public:
  MetadataScanner(ZonedDevice& device, const Superblock& superblock)
      : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {}

  Result<MetadataScan> Run() {
    const PresenceMark mark = PresenceMark::Now(device_);
    ZENFS_ASSIGN_OR_RETURN(const LogFingerprint fingerprint, TakeLogFingerprint(device_, superblock_));
    out_.zones = fingerprint.zones;
    std::set<GenerationKey> keys;
    for (std::size_t i = 0; i < fingerprint.zones.size(); ++i) {
      if (fingerprint.heads[i]) {
        heads_[fingerprint.zones[i].id] = *fingerprint.heads[i];
        keys.insert({fingerprint.heads[i]->generation, fingerprint.heads[i]->salt});
      } else {
        AddKeyOfHeadless(fingerprint.zones[i], keys);
      }
    }
    for (const ZoneInfo& info : fingerprint.zones) {
      if (info.condition == ZoneCondition::kOffline) {
        out_.flaws.push_back({info.id, 0, info.capacity, 0, MetadataFlaw::Kind::kOffline});
      } else if (info.WrittenBytes() != 0) {
        Take(ScanMetazone(device_, superblock_, info, keys));
      }
    }
    for (auto& [key, generation] : generations_) {
      std::ranges::sort(generation.frames, {}, [](const MetadataFrame& frame) {
        return std::tuple(frame.ordinal, frame.zone, frame.at);  // of two copies, the same one each time
      });
      const auto twice = std::ranges::unique(generation.frames, {}, &MetadataFrame::ordinal);
      generation.frames.erase(twice.begin(), twice.end());
      out_.generations.push_back(std::move(generation));
    }
    ZENFS_RETURN_IF_ERROR(mark.Check(device_));
    DropZonesGivenBack(fingerprint);
    DropTailsOfEarlierZones();
    AddMissingCopies();
    std::ranges::sort(out_.flaws, {}, [](const MetadataFlaw& flaw) { return std::pair(flaw.zone, flaw.at); });
    FindWholeCopies();
    return std::move(out_);
  }

 private:
  // Without a header, the zone's generation and salt come from a SwitchComplete. A zone holds one generation. An image may have a
  // SwitchComplete of another one in each block, and each block is compared with each key: so only the newest counts.
  void AddKeyOfHeadless(const ZoneInfo& info, std::set<GenerationKey>& keys) {
    std::optional<GenerationKey> newest;
    ZoneReader reader(device_, info.id, info.WrittenBytes());
    for (std::uint64_t at = reader.SkipZeros(layout_.frames_at); at < reader.end();
         at = reader.SkipZeros(at + layout_.block_size)) {
      const auto found = FindSwitchComplete(reader.View(at, layout_.block_size), superblock_.seed, info.id,
                                            layout_.block_size);
      if (!found || (newest && found->generation <= newest->generation)) continue;
      newest = GenerationKey{found->generation, found->complete.salt};
    }
    if (newest) keys.insert(*newest);
  }

  void Take(const MetazoneScan& scan) {
    std::uint64_t generation = scan.header ? scan.header->generation : 0;
    for (const MetadataFrame& frame : scan.frames) {
      Keep(frame);
      generation = frame.of.generation;
    }
    const auto add = [&](std::uint64_t at, std::uint64_t bytes, MetadataFlaw::Kind kind) {
      out_.flaws.push_back({scan.zone, at, bytes, generation, kind});
    };
    if (scan.superblock) add(0, layout_.header_at, MetadataFlaw::Kind::kSuperblock);
    if (!scan.header) {
      add(layout_.header_at, layout_.frames_at - layout_.header_at, MetadataFlaw::Kind::kLogHeader);
    }
    for (const MetazoneScan::Gap& gap : scan.gaps) {
      if (gap.inside) add(gap.at, gap.bytes, MetadataFlaw::Kind::kFrames);
      if (!gap.inside && !gap.IsUnwritten()) add(gap.at, gap.bytes, MetadataFlaw::Kind::kTail);
    }
  }

  void Keep(const MetadataFrame& frame) {
    ScannedGeneration& generation = generations_[frame.of];
    generation.generation = frame.of.generation;
    generation.salt = frame.of.salt;
    generation.frames.push_back(frame);
    if (frame.kind == FrameKind::kSwitchComplete) generation.complete_sequence = frame.first_sequence;
  }

  // What a zone holds that was given back is no flaw of the log.
  void DropZonesGivenBack(const LogFingerprint& fingerprint) {
    std::uint64_t newest = 0;
    for (const ScannedGeneration& generation : out_.generations) {
      if (generation.complete_sequence) newest = std::max(newest, generation.generation);
    }
    for (std::size_t i = 0; i < fingerprint.zones.size(); ++i) {
      if (!fingerprint.WasGivenBack(i, newest)) continue;
      std::erase_if(out_.flaws,
                    [&](const MetadataFlaw& flaw) { return flaw.zone == fingerprint.zones[i].id; });
    }
  }

  // A zone that is not the last of its chain was finished after its last frame; the rest was never written.
  void DropTailsOfEarlierZones() {
    std::erase_if(out_.flaws, [&](const MetadataFlaw& flaw) {
      if (flaw.kind != MetadataFlaw::Kind::kTail) return false;
      const auto it = std::ranges::find(out_.generations, flaw.generation, &ScannedGeneration::generation);
      if (it == out_.generations.end() || it->frames.empty()) return false;
      const ZoneId last = it->frames.back().zone;
      return flaw.zone != last && flaw.zone != PartnerOf(last);
    });
  }

  // Zones that were reset, or hold something else, although the newest generation has them as the other zone of a pair.
  void AddMissingCopies() {
    std::uint64_t newest = 0;
    for (const auto& [zone, head] : heads_) newest = std::max(newest, head.generation);
    for (const auto& [zone, head] : heads_) {
      if (head.generation != newest || !head.is_pair()) continue;
      const bool told = std::ranges::find(out_.flaws, head.partner, &MetadataFlaw::zone) != out_.flaws.end();
      const auto other = heads_.find(head.partner);
      const bool there = other != heads_.end() && other->second.generation == newest;
      if (told || there) continue;
      out_.flaws.push_back({head.partner, layout_.header_at, layout_.frames_at - layout_.header_at, newest,
                            MetadataFlaw::Kind::kLogHeader});
    }
  }

  // Both zones of a pair hold the same at the same offsets. An image may have a flaw in every second block, so each flaw looks up
  // the first one in the other zone that ends behind its begin: the flaws are sorted, and those of one zone do not overlap.
  void FindWholeCopies() {
    const auto end_of = [this](ZoneId zone) {
      const auto it = std::ranges::find(out_.zones, zone, &ZoneInfo::id);
      return it == out_.zones.end() ? 0 : it->WrittenBytes();
    };
    for (MetadataFlaw& flaw : out_.flaws) {
      const std::optional<ZoneId> partner = PartnerOf(flaw.zone);
      if (!partner) continue;
      const auto other = std::ranges::upper_bound(
          out_.flaws, std::pair(*partner, flaw.at), {},
          [](const MetadataFlaw& each) { return std::pair(each.zone, each.at + each.bytes); });
      const bool whole =
          other == out_.flaws.end() || other->zone != *partner || other->at >= flaw.at + flaw.bytes;
      const bool there = flaw.kind == MetadataFlaw::Kind::kOffline || flaw.at < end_of(*partner);
      if (whole && there) flaw.whole_in = partner;
    }
  }

  // The other zone of the newest pair that the zone belongs to, if that one's header can be read.
  std::optional<ZoneId> PartnerOf(ZoneId zone) const {
    const std::pair<const ZoneId, LogHeader>* newest = nullptr;
    for (const auto& entry : heads_) {
      const bool names_it = entry.second.is_pair() && entry.second.partner == zone;
      if (names_it && (newest == nullptr || entry.second.generation > newest->second.generation))
        newest = &entry;
    }
    const auto own = heads_.find(zone);
    const bool newer =
        newest != nullptr && own != heads_.end() && own->second.generation > newest->second.generation;
    return newest == nullptr || newer ? std::nullopt : std::optional(newest->first);
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  std::map<ZoneId, LogHeader> heads_;
  std::map<GenerationKey, ScannedGeneration> generations_;
  MetadataScan out_;
};

}  // namespace

bool MetadataScan::EndsInSwitch(std::uint64_t generation) const {
  const auto it = std::ranges::find(generations, generation, &ScannedGeneration::generation);
  return it != generations.end() && !it->frames.empty() && it->frames.back().kind == FrameKind::kSwitchBegin;
}

std::uint64_t MetadataScan::HighestGeneration() const {
  return generations.empty() ? 0 : generations.back().generation;
}

std::uint64_t MetadataScan::HighestSequence() const {
  std::uint64_t highest = 0;
  for (const ScannedGeneration& generation : generations) {
    for (const MetadataFrame& frame : generation.frames) highest = std::max(highest, frame.last_sequence);
  }
  return highest;
}

Result<MetadataScan> ScanMetadata(ZonedDevice& device, const Superblock& superblock) {
  return MetadataScanner(device, superblock).Run();
}

Status ReadScanned(ZonedDevice& device, const Superblock& superblock, const ScannedGeneration& generation,
                   const MetadataFrame& frame, const std::function<Status(ByteView payload)>& use) {
  const std::uint32_t block = device.geometry().block_size;
  ZoneReader reader(device, frame.zone, frame.at + frame.bytes);
  const FrameSeed seed = FrameSeed::Of(superblock.seed, frame.zone, generation.generation, generation.salt);
  const ParsedFrame parsed = ParseFrame(reader.View(frame.at, frame.bytes), seed, block, frame.bytes);
  const Status used = parsed.valid() ? use(parsed.payload)
                                     : Fail(Code::kCorruption, "a frame that was valid is not any more");
  if (used.ok()) return {};
  return Fail(used.error().With(
      fmt::format("{}: metadata zone {}, byte {}", device.name(), frame.zone.value, frame.at)));
}

std::string FlawText(const MetadataFlaw& flaw) {
  if (flaw.whole_in) {
    MetadataFlaw alone = flaw;
    alone.whole_in.reset();
    return fmt::format("{}; the other copy, in metadata zone {}, is whole", FlawText(alone),
                       flaw.whole_in->value);
  }
  const std::string of = flaw.generation == 0 ? "" : fmt::format(" of generation {}", flaw.generation);
  std::string where = fmt::format("metadata zone {}, byte {}", flaw.zone.value, flaw.at);
  switch (flaw.kind) {
    case MetadataFlaw::Kind::kSuperblock:
      return fmt::format("{}: the copy of the superblock before the log{} is damaged", where, of);
    case MetadataFlaw::Kind::kLogHeader:
      return fmt::format("{}: the header of the metadata log{} can't be read", where, of);
    case MetadataFlaw::Kind::kFrames:
      return fmt::format("{}: {} bytes of the metadata log{} can't be read, but later frames can", where,
                         flaw.bytes, of);
    case MetadataFlaw::Kind::kTail:
      return fmt::format(
          "{}: the metadata log{} ends in {} bytes that can't be read: a commit cut off by a power loss, or "
          "damage",
          where, of, flaw.bytes);
    case MetadataFlaw::Kind::kOffline:
      return fmt::format("metadata zone {} is offline; its contents are lost", flaw.zone.value);
  }
  return where;
}

}  // namespace zenfs
