#include "metalog/metadata_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "device/presence.h"
#include "format/metalog_payload.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"
#include "metalog/zone_reader.h"

namespace zenfs {
namespace {

class Scan {
 public:
  Scan(ZonedDevice& device, const Superblock& superblock)
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
  return Scan(device, superblock).Run();
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
