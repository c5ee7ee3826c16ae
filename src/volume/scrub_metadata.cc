#include "volume/scrub_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "metalog/metazone_scan.h"
#include "metalog/metazones.h"

namespace zenfs {
namespace {

class MetadataScrub {
 public:
  // `other_copies`: the other zones of the pairs of the current generation.
  MetadataScrub(ScrubContext& context, bool replayed, std::uint64_t generation,
                std::map<ZoneId, ZoneId> other_copies)
      : context_(context),
        other_copies_(std::move(other_copies)),
        layout_(context.device.geometry().block_size),
        replayed_(replayed),
        generation_(generation) {}

  void Zone(const MetazoneScan& scan) {
    ++context_.out.superblocks;
    Superblock(scan);
    if (!scan.header) return NoHeader(scan);
    if (scan.header->generation < generation_) return Superseded(scan);
    context_.out.metadata_frames += scan.frames.size() + 1;
    for (const MetazoneScan::Gap& gap : scan.gaps) Gap(scan, gap);
    if (scan.header->generation > generation_ && scan.gaps.empty() && !scan.IsComplete()) {
      Add(Severity::kNote, scan, layout_.header_at,
          fmt::format(
              "generation {} of the metadata log begins there and is incomplete; the next read-write mount "
              "discards it",
              scan.header->generation));
    }
  }

 private:
  void Add(Severity severity, const MetazoneScan& scan, std::uint64_t at, const std::string& what) {
    context_.Add(severity, fmt::format("zone {} at byte {}: {}", scan.zone.value, at, what), scan.zone, at);
  }

  // The remains of a failed log switch that was followed by one to another zone. If the power was lost before the reset of
  // this zone was durable, some of it is back.
  bool IsLeftOver(const MetazoneScan& scan) const {
    return scan.header && scan.header->generation < generation_ && !scan.IsComplete();
  }

  void Superblock(const MetazoneScan& scan) {
    if (scan.superblock && scan.header && scan.header->is_spare()) {
      Add(Severity::kWarning, scan, 0,
          fmt::format("the copy of the superblock is damaged ({}); nothing else is in the zone, and the next "
                      "log switch "
                      "resets it",
                      scan.superblock->ToString()));
    } else if (scan.superblock && IsLeftOver(scan)) {
      Add(Severity::kWarning, scan, 0,
          fmt::format(
              "the copy of the superblock is damaged ({}), but it is not needed: generation {} of the "
              "metadata log was never complete there; the next log switch resets the zone",
              scan.superblock->ToString(), scan.header->generation));
    } else if (scan.superblock && (scan.header || !replayed_)) {
      Add(Severity::kError, scan, 0,
          fmt::format("the copy of the superblock is damaged: {}", scan.superblock->ToString()));
    } else if (scan.superblock_differs) {
      Add(Severity::kError, scan, 0, "the copy of the superblock differs from the one in use");
    }
  }

  // A log switch that was interrupted in its first writes leaves such a zone, too.
  void NoHeader(const MetazoneScan& scan) {
    if (const auto other = other_copies_.find(scan.zone); replayed_ && other != other_copies_.end()) {
      return Add(Severity::kError, scan, layout_.header_at,
                 fmt::format("the log header is damaged; the other copy of the metadata log is in zone {}",
                             other->second.value));
    }
    Add(replayed_ ? Severity::kWarning : Severity::kError, scan, layout_.header_at,
        replayed_ ? "there is no valid log header: a log switch was interrupted there, or a superseded "
                    "generation is "
                    "damaged; the next read-write mount resets the zone"
                  : "there is no valid log header");
  }

  // Only a repair needs a superseded generation, if the generation in use is too badly damaged.
  void Superseded(const MetazoneScan& scan) {
    for (const MetazoneScan::Gap& gap : scan.gaps) {
      if (gap.inside) {
        Add(Severity::kWarning, scan, gap.at, Inside(scan, gap) + "; a newer generation is in use");
      } else if (!gap.IsUnwritten()) {
        Add(Severity::kNote, scan, gap.at,
            fmt::format("{} bytes {}, after the end of generation {} of the metadata log or in its last "
                        "frame; a newer generation is in use",
                        gap.bytes, WhatIsWrong(gap), scan.header->generation));
      }
    }
  }

  static std::string Inside(const MetazoneScan& scan, const MetazoneScan::Gap& gap) {
    const std::string which = gap.first_frame == gap.last_frame
                                  ? fmt::format("frame {}", gap.last_frame)
                                  : fmt::format("frames {} to {}", gap.first_frame, gap.last_frame);
    return fmt::format(
        "{} of generation {} of the metadata log is damaged: {} bytes there are not a valid frame", which,
        scan.header->generation, gap.bytes);
  }
  static const char* WhatIsWrong(const MetazoneScan::Gap& gap) {
    return gap.unreadable ? "can't be read" : "are not a valid frame";
  }

  void Gap(const MetazoneScan& scan, const MetazoneScan::Gap& gap) {
    if (gap.inside) return Add(Severity::kError, scan, gap.at, Inside(scan, gap));
    if (gap.IsUnwritten()) return;  // the zone was finished before it was full
    const char* const what = WhatIsWrong(gap);
    if (scan.header->generation > generation_) {
      return Add(Severity::kError, scan, gap.at,
                 fmt::format("{} bytes {}: generation {} of the metadata log, newer than the one in use, is "
                             "incomplete or damaged there; if it is damaged, commits may be missing",
                             gap.bytes, what, scan.header->generation));
    }
    Add(Severity::kError, scan, gap.at,
        fmt::format(
            "{} bytes after the end of the metadata log {}: a commit was interrupted there, or the last one "
            "is damaged and missing",
            gap.bytes, what));
  }

  ScrubContext& context_;
  const std::map<ZoneId, ZoneId> other_copies_;
  const MetazoneLayout layout_;
  const bool replayed_;
  const std::uint64_t generation_;
};

}  // namespace

void ScrubMetadata(ScrubContext& context, const LogFingerprint& fingerprint,
                   std::optional<std::uint64_t> generation) {
  std::uint64_t highest = 0;
  for (const std::optional<LogHeader>& head : fingerprint.heads) {
    if (head) highest = std::max(highest, head->generation);
  }
  const std::uint64_t current = generation.value_or(highest);
  std::map<ZoneId, ZoneId> other_copies;
  for (std::size_t i = 0; i < fingerprint.zones.size(); ++i) {
    const std::optional<LogHeader>& head = fingerprint.heads[i];
    if (head && head->is_pair() && head->generation == current)
      other_copies.emplace(head->partner, fingerprint.zones[i].id);
  }
  MetadataScrub scrub(context, generation.has_value(), current, std::move(other_copies));
  for (std::size_t i = 0; i < fingerprint.zones.size(); ++i) {
    const ZoneInfo& info = fingerprint.zones[i];
    if (fingerprint.WasGivenBack(i, current)) continue;
    if (info.condition == ZoneCondition::kOffline) {
      context.Add(Severity::kWarning, fmt::format("zone {}: a metadata zone is offline", info.id.value),
                  info.id, 0);
      continue;
    }
    if (info.WrittenBytes() == 0) continue;
    context.out.metadata_bytes += info.WrittenBytes();
    scrub.Zone(ScanMetazone(context.device, context.superblock, info));
    context.advance(info.WrittenBytes());
  }
}

}  // namespace zenfs
