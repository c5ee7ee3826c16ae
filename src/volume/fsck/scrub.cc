#include "volume/fsck/scrub.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "base/sync_point.h"
#include "device/guarded_device.h"
#include "device/paced_view.h"
#include "device/presence.h"
#include "device/read_only_view.h"
#include "device/remembered_holes.h"
#include "format/superblock.h"
#include "metalog/follower.h"
#include "metalog/metadata_scan.h"
#include "metalog/metalog.h"
#include "metalog/metazones.h"
#include "metalog/probe.h"
#include "metalog/replay.h"
#include "model/file_record.h"
#include "model/state.h"
#include "volume/flushed_bytes.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/invalid_blocks.h"
#include "volume/fsck/older_findings.h"
#include "volume/fsck/places.h"
#include "volume/pair_proof.h"
#include "wal/wal_recovery.h"
#include "zone/zone_limits.h"
#include "zone/zone_states.h"

namespace zenfs {
namespace {

// What the parts of a scrub share: the metadata zones, the log zones, the extents of files.
struct ScrubContext {
  ZonedDevice& device;
  const Superblock& superblock;
  // Called after each read with its bytes, for the progress.
  const std::function<void(std::uint64_t bytes)>& advance;
  ScrubReport& out;

  void Add(Severity severity, std::string text, ZoneId zone, std::uint64_t at) {
    out.findings.Add({.severity = severity,
                      .text = std::move(text),
                      .zone = zone,
                      .offset = device.geometry().ZoneStart(zone) + at});
  }
};

// --- the metadata zones ---

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

// Verifies every copy of the superblock, and every frame of the generation in use and of newer ones. `generation` is the one
// in use; without it the log could not be replayed, and the highest generation counts as the one in use.
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

// --- the log zones ---

class LogScrub {
 public:
  LogScrub(ScrubContext& context, const State& state, const FileNames& names)
      : context_(context), state_(state), names_(names), device_(context.device) {}

  void Scan(const LogZone& zone, const ZoneInfo& info) {
    ScanLogZone(
        device_, context_.superblock.seed, zone, info,
        [&](const ScannedFrame& frame) {
          ++context_.out.log_frames;
          invalid_.SeeFrame();
          if (IsLog(FileId(frame.owner))) frames_[FileId(frame.owner)].push_back(frame);
        },
        0,
        [&](std::uint64_t at, const ParsedFrame& frame) {
          const bool like_a_frame =
              frame.verdict == FrameVerdict::kDamaged && frame.header.kind == FrameKind::kLogData;
          if (like_a_frame && IsLog(FileId(frame.header.owner))) {
            invalid_.Add({zone.zone, at}, frame.header);
          } else {
            invalid_.Add({zone.zone, at});
          }
        });
    context_.advance(info.WrittenBytes());
  }

  void Judge(const FileRecord& record) {
    const ReplayedLog log = ReplayLog(record, state_.epoch(), std::move(frames_[record.id]));
    for (const auto& [zone, bytes] : log.zones) context_.out.log_bytes += bytes;
    const Piece* before = nullptr;
    for (const Piece& piece : log.index.pieces()) {
      if (piece.damaged)
        context_.out.findings.Add(Severity::kError, [&] { return Lost(record, piece, before); });
      if (!piece.damaged && piece.sequence != 0) before = &piece;
    }
  }

 private:
  bool IsLog(FileId id) const {
    const auto file = state_.FindFile(id);
    return file != nullptr && file->shape == FileShape::kFramed;
  }

  Finding Lost(const FileRecord& record, const Piece& lost, const Piece* before) const {
    FileNames::Paths paths = names_.PathsOf(record.id);
    Finding finding{
        .severity = Severity::kError,
        .text = fmt::format("{}: bytes {} to {} are lost: frame {} of its log is missing or damaged",
                            names_.Describe(record.id), lost.file_offset, lost.end(), lost.sequence),
        .paths = std::move(paths.whole),
        .more_paths = paths.others};
    std::optional<InvalidBlocks::Place> place = invalid_.Claiming(record.id, lost.file_offset, lost.end());
    const bool sure = place.has_value();
    if (!sure) place = Behind(before);
    if (place) {
      finding.zone = place->zone;
      finding.offset = context_.device.geometry().ZoneStart(place->zone) + place->at;
      finding.text +=
          fmt::format(", {} zone {} at byte {}", sure ? "in" : "probably in", place->zone.value, place->at);
    }
    return finding;
  }

  // The frames of a file are written in order, so the lost one is probably the first invalid block after `before`.
  std::optional<InvalidBlocks::Place> Behind(const Piece* before) const {
    std::optional<InvalidBlocks::Place> place;
    if (before != nullptr) {
      const Geometry& geometry = context_.device.geometry();
      const ZoneId zone = geometry.ZoneOf(before->place);
      place = invalid_.Behind({zone, before->place - geometry.ZoneStart(zone)});
    }
    return place ? place : invalid_.First();
  }

  ScrubContext& context_;
  const State& state_;
  const FileNames& names_;
  RememberedHoles device_;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames_;
  InvalidBlocks invalid_;
};

// Verifies every frame of the files of `state`. `report` covers all zones.
void ScrubLogs(ScrubContext& context, const State& state, const FileNames& names,
               std::span<const ZoneInfo> report) {
  LogScrub scrub(context, state, names);
  for (const auto& [id, zone] : state.log_zones()) {
    if (id.value < report.size()) scrub.Scan(zone, report[id.value]);
  }
  std::vector<const FileRecord*> framed;
  for (const auto& [id, record] : state.files()) {
    if (record->shape == FileShape::kFramed) framed.push_back(record.get());
  }
  std::ranges::sort(framed, {}, [](const FileRecord* record) { return record->id; });
  for (const FileRecord* record : framed) scrub.Judge(*record);
}

// --- the extents of files ---

constexpr std::uint64_t kScrubReadBytes = 1 << 20;
// How often a file is read again because it was changed meanwhile.
constexpr int kScrubTries = 8;

class FileScrub {
 public:
  // Returns the file's present record; null if it is gone.
  using FindNow = std::function<std::shared_ptr<const FileRecord>(FileId)>;

  FileScrub(ScrubContext& context, FindNow find_now);

  // Reads all extents of the file. Apparent damage is reported if the file has not changed meanwhile; otherwise its new
  // extents are read. Errors: those of PresenceMark::Check.
  [[nodiscard]] Status File(std::shared_ptr<const FileRecord> record, const FileNames& names);

 private:
  struct Damage {
    DeviceOffset place;
    std::uint64_t from = 0;  // bytes of the file
    std::uint64_t to = 0;
    std::string what;
  };
  struct Outcome {
    std::vector<Damage> damage;  // at most Findings::kKeptAtMost
    std::uint64_t omitted = 0;
    std::uint64_t extents_without_checksum = 0;
    std::uint64_t bytes_without_checksum = 0;
    std::vector<ComputedChecksum> computed;
  };
  Result<Outcome> Read(const FileRecord& record);
  // Returns the checksum of the bytes; nothing if some can't be read.
  Result<KnownCrc> ReadExtent(const Extent& extent, Outcome& outcome);
  struct Unreadable {  // bytes of the blocks of an extent
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::string error;
  };
  // Finds the unreadable blocks of the piece that begins at byte `at` of `blocks` and is as long as the buffer.
  void FindUnreadable(const BlockRange& blocks, std::uint64_t at, std::vector<Unreadable>& runs);
  Finding FindingOf(const Damage& damage, FileId file, const FileNames& names) const;

  ScrubContext& context_;
  const FindNow find_now_;
  AlignedBuffer buffer_;
};

FileScrub::FileScrub(ScrubContext& context, FindNow find_now)
    : context_(context), find_now_(std::move(find_now)), buffer_(kScrubReadBytes) {}

Status FileScrub::File(std::shared_ptr<const FileRecord> record, const FileNames& names) {
  ScrubReport& out = context_.out;
  for (int tries = 0; record != nullptr; ++tries) {
    ZENFS_ASSIGN_OR_RETURN(Outcome outcome, Read(*record));
    SyncPoint::Reach("FileScrub:read");
    const std::shared_ptr<const FileRecord> now = outcome.damage.empty() ? record : find_now_(record->id);
    const bool same = now != nullptr && (now == record || *now == *record);
    if (same || (now != nullptr && tries == kScrubTries)) {
      ++out.files;
      out.extents += record->extents.size();
      out.extent_bytes += record->ExtentsEnd();
      for (const Extent& extent : record->extents) {
        out.data_bytes += BlocksOf(extent, context_.device.geometry().block_size).bytes;
      }
      out.extents_without_checksum += outcome.extents_without_checksum;
      out.bytes_without_checksum += outcome.bytes_without_checksum;
    }
    if (same) {
      if (!context_.superblock.is_older())
        std::ranges::move(outcome.computed, std::back_inserter(out.computed));
      for (const Damage& damage : outcome.damage)
        out.findings.Add(Severity::kError, [&] { return FindingOf(damage, record->id, names); });
      out.findings.AddOmitted(Severity::kError, outcome.omitted);
      return {};
    }
    if (now != nullptr && tries == kScrubTries) {
      out.findings.Add(Severity::kNote, [&] {
        FileNames::Paths paths = names.PathsOf(record->id);
        return Finding{.text = fmt::format("{}: the writer changed it during each of {} tries to read it",
                                           names.Describe(record->id), kScrubTries),
                       .paths = std::move(paths.whole),
                       .more_paths = paths.others};
      });
      return {};
    }
    record = now;
  }
  return {};
}

Result<FileScrub::Outcome> FileScrub::Read(const FileRecord& record) {
  Outcome outcome;
  for (const Extent& extent : record.extents) {
    ZENFS_ASSIGN_OR_RETURN(const KnownCrc crc, ReadExtent(extent, outcome));
    if (extent.crc) continue;
    ++outcome.extents_without_checksum;
    outcome.bytes_without_checksum += extent.length;
    if (!crc) continue;
    outcome.computed.push_back({record.id, extent});
    outcome.computed.back().extent.crc = crc;
  }
  return outcome;
}

Result<KnownCrc> FileScrub::ReadExtent(const Extent& extent, Outcome& outcome) {
  const Geometry& geometry = context_.device.geometry();
  const auto add = [&outcome](Damage damage) {
    if (outcome.damage.size() == Findings::kKeptAtMost) {
      ++outcome.omitted;
    } else {
      outcome.damage.push_back(std::move(damage));
    }
  };
  const BlockRange blocks = BlocksOf(extent, geometry.block_size);
  if (!LiesInOneZone({.place = blocks.begin, .length = blocks.bytes}, geometry)) {
    add({extent.place, extent.file_offset, extent.end(), "have an impossible place on this device"});
    return {};
  }
  const std::uint64_t skip = extent.place - blocks.begin;
  const std::uint64_t length = blocks.bytes;
  std::uint32_t crc = 0;
  std::vector<Unreadable> unreadable;
  for (std::uint64_t at = 0; at < length; at += buffer_.size()) {
    buffer_.Resize(std::min(kScrubReadBytes, length - at));
    if (context_.device.Read(blocks.begin + at, buffer_.Span()).ok()) {
      const std::uint64_t from = at == 0 ? skip : 0;
      const std::uint64_t to = std::min<std::uint64_t>(buffer_.size(), skip + extent.length - at);
      crc = Crc32c(buffer_.View(from, to - from), crc);
    } else {
      ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(context_.device));
      FindUnreadable(blocks, at, unreadable);
    }
    context_.advance(buffer_.size());
  }
  for (const Unreadable& run : unreadable) {
    const auto in_file = [&](std::uint64_t at) {
      return extent.file_offset + std::min(at - std::min(at, skip), extent.length);
    };
    add({blocks.begin + run.from, in_file(run.from), in_file(run.to),
         fmt::format("can't be read ({})", run.error)});
  }
  if (!unreadable.empty()) return std::nullopt;
  if (crc != extent.crc.value_or(crc))
    add({extent.place, extent.file_offset, extent.end(), "do not match their checksum"});
  return crc;
}

void FileScrub::FindUnreadable(const BlockRange& blocks, std::uint64_t at, std::vector<Unreadable>& runs) {
  const std::uint32_t block = context_.device.geometry().block_size;
  for (const std::uint64_t end = at + buffer_.size(); at < end; at += block) {
    const Status read = context_.device.Read(blocks.begin + at, buffer_.Span().first(block));
    if (read.ok()) continue;
    if (runs.empty() || runs.back().to != at) runs.push_back({at, at, read.error().ToString()});
    runs.back().to = at + block;
  }
}

Finding FileScrub::FindingOf(const Damage& damage, FileId file, const FileNames& names) const {
  const Geometry& geometry = context_.device.geometry();
  const ZoneId zone = geometry.ZoneOf(damage.place);
  FileNames::Paths paths = names.PathsOf(file);
  return {.text = fmt::format("{}: bytes {} to {} {}; they are in zone {} from byte {} on",
                              names.Describe(file), damage.from, damage.to, damage.what, zone.value,
                              damage.place - geometry.ZoneStart(zone)),
          .zone = zone,
          .offset = damage.place,
          .paths = std::move(paths.whole),
          .more_paths = paths.others};
}

// --- all of it ---

// Apparent damage of a volume that is being written is read again: how often, and after what time.
constexpr int kLooksAgain = 2;
constexpr std::chrono::milliseconds kBetweenLooks{100};

class Scrub {
 public:
  Scrub(ZonedDevice& device, const Superblock& superblock, const ScrubOptions& options)
      : device_(device), superblock_(superblock), options_(options), follower_(device, superblock) {}

  Result<ScrubReport> Run() {
    ZENFS_RETURN_IF_ERROR(CheckPairOf(device_, follower_));
    ZENFS_ASSIGN_OR_RETURN(Look look, LookAtBothLogs());
    const auto in_doubt = [](const Look& each) {
      return each.moved && (!each.state || !each.report.findings.empty());
    };
    for (int i = 0; i < kLooksAgain && in_doubt(look); ++i) {
      SleepUntil(SteadyNow() + kBetweenLooks);
      ZENFS_ASSIGN_OR_RETURN(Look again, LookAtBothLogs());
      again.report.findings.KeepThoseOf(look.report.findings);
      look = std::move(again);
    }
    if (look.state) {
      ZENFS_RETURN_IF_ERROR(ReadFiles(*look.state, look.report));
    } else {  // whatever the looks before said: no file was read
      look.report.findings.Add(
          {.severity = Severity::kError,
           .text = fmt::format("the files can't be scrubbed, because the metadata log can't be replayed: {}",
                               look.not_replayed.error().ToString())});
    }
    return std::move(look.report);
  }

 private:
  // The result of one read of the metadata zones and the log zones.
  struct Look {
    ScrubReport report;
    std::optional<State> state;  // empty if the metadata log could not be replayed
    Status not_replayed{};       // then why
    bool moved = false;          // it was written meanwhile, so findings may come from that race
  };

  Result<Look> LookAtBothLogs() {
    Look look;
    look.report.uuid = superblock_.uuid;
    done_ = 0;
    ScrubContext context{device_, superblock_, advance_, look.report};
    const auto refreshed = follower_.Refresh();
    if (!refreshed && refreshed.error().code() == Code::kTimedOut) return Fail(refreshed.error());
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device_));
    LogFingerprint fingerprint;
    std::optional<std::uint64_t> generation;
    if (refreshed) {
      UpdateBuffers();
      StateWithFlushed shown = WithFlushed();
      look.state = std::move(shown.state);
      look.report.unsynced = buffers_.problem();
      for (const auto& [id, flaw] : shown.flaws) look.report.findings.Add(flaw);
      if (!buffers_.problem().empty()) {
        look.report.findings.Add({.severity = buffers_.damaged() ? Severity::kError : Severity::kWarning,
                                  .text = buffers_.problem()});
      }
      fingerprint = follower_.fingerprint();
      generation = follower_.generation();
    } else {
      look.not_replayed = Fail(refreshed.error());
      ZENFS_ASSIGN_OR_RETURN(fingerprint, TakeLogFingerprint(device_, superblock_));
    }
    SyncPoint::Reach("ScrubVolume:reported");
    Expect(fingerprint, look.state, report);
    if (superblock_.is_older()) {
      if (look.state) NoteOlderLog(fingerprint, look.report);
    } else {
      ScrubMetadata(context, fingerprint, generation);
    }
    if (look.state) ScrubLogs(context, *look.state, FileNames(*look.state), report);
    ZENFS_ASSIGN_OR_RETURN(const LogCheck check, CheckLog(device_, superblock_, fingerprint));
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> after, ReportAll(device_));
    look.moved = check.moved ||
                 !std::ranges::equal(report, after, {}, &ZoneInfo::WrittenBytes, &ZoneInfo::WrittenBytes);
    return look;
  }

  // The replay has verified the checksums of all that the older ZenFS's log has.
  void NoteOlderLog(const LogFingerprint& fingerprint, ScrubReport& out) {
    out.superblocks += static_cast<std::uint64_t>(
        std::ranges::count_if(fingerprint.heads, [](const auto& head) { return head.has_value(); }));
    out.metadata_frames += follower_.sequence();
    for (const ZoneInfo& zone : fingerprint.zones) {
      out.metadata_bytes += zone.WrittenBytes();
      advance_(zone.WrittenBytes());
    }
    AddOlderFindings(device_, superblock_, follower_.older_flaws(), out.findings);
  }

  Status ReadFiles(const State& state, ScrubReport& out) {
    ScrubContext context{device_, superblock_, advance_, out};
    const FileNames names(state);
    FileScrub scrub(context, [this](FileId id) { return FindNow(id); });
    std::vector<std::shared_ptr<const FileRecord>> files;
    for (const auto& [id, record] : state.files()) files.push_back(record);
    std::ranges::sort(files, {}, [](const auto& record) { return record->id; });
    for (const auto& record : files) ZENFS_RETURN_IF_ERROR(scrub.File(record, names));
    return {};
  }

  // Reading the buffers verifies the checksums of the bytes in them. Returns true if their bytes, or whether their maker lives, are
  // not as they were before the call.
  bool UpdateBuffers() {
    const std::vector<FlushedBytes> before = buffers_.pieces();
    const bool lived = maker_lived_;
    buffers_.Update(BuffersOf(follower_.state(), superblock_.uuid, device_),
                    Deadline::After(LogFollower::kPatience));
    maker_lived_ = buffers_.MakerLives();
    const auto same = [](const FlushedBytes& a, const FlushedBytes& b) {
      return a.slot == b.slot && a.control == b.control && a.memory == b.memory;
    };
    return lived != maker_lived_ || !std::ranges::equal(before, buffers_.pieces(), same);
  }

  StateWithFlushed WithFlushed() {
    return AddFlushedExtents(follower_.state(), buffers_, follower_.metadata_zones(), device_);
  }

  // A copy of the state takes the time of all files, so there is none for a volume that does not change.
  std::shared_ptr<const FileRecord> FindNow(FileId id) {
    const auto change = follower_.Refresh();
    // If the log was damaged since, the last known state counts.
    if (!change) return last_state_.FindFile(id);
    const bool buffers_changed = UpdateBuffers();
    if (*change != LogFollower::Change::kNone || buffers_changed) last_state_ = WithFlushed().state;
    return last_state_.FindFile(id);
  }

  void Expect(const LogFingerprint& fingerprint, const std::optional<State>& state,
              std::span<const ZoneInfo> report) {
    total_ = 0;
    for (const ZoneInfo& info : fingerprint.zones) total_ += info.WrittenBytes();
    if (!state) return;
    last_state_ = *state;
    for (const auto& [id, zone] : state->log_zones()) {
      if (id.value < report.size()) total_ += report[id.value].WrittenBytes();
    }
    for (const auto& [id, record] : state->files()) {
      for (const Extent& extent : record->extents) {
        total_ += BlocksOf(extent, device_.geometry().block_size).bytes;
      }
    }
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const ScrubOptions& options_;
  LogFollower follower_;
  LiveBuffers buffers_;
  bool maker_lived_ = false;  // at the last update of the buffers
  State last_state_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  const std::function<void(std::uint64_t)> advance_ = [this](std::uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) options_.progress(std::min(done_, total_), total_);
  };
};

Result<ScrubReport> ScrubOnView(ZonedDevice& device, const ScrubOptions& options) {
  ZENFS_ASSERT(device.mode() == OpenMode::kReadOnly);
  Result<Superblock> superblock = ProbeReadable(device);
  if (!superblock && superblock.error().code() == Code::kCorruption) {
    // A single flipped bit; ScrubMetadata reports it.
    if (const Result<SuperblockCopy> corrected = CorrectedSuperblock(device))
      superblock = corrected->superblock;
  }
  if (!superblock) return Fail(superblock.error());
  ZENFS_RETURN_IF_ERROR(PlanSlots(device.geometry(), device.name()));
  return Scrub(device, *superblock, options).Run();
}

}  // namespace

Result<ScrubReport> ScrubVolume(ZonedDevice& device, const ScrubOptions& options) {
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  const std::unique_ptr<ZonedDevice> view = MakeReadOnlyView(*guarded);
  const std::unique_ptr<ZonedDevice> paced = MakePacedView(*view, options.bytes_per_second);
  Result<ScrubReport> report = ScrubOnView(*paced, options);
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*paced));
  return report;
}

namespace {

// The edit that gives extents of `file` their checksums, and their number; nothing if the file changed since. `computed`: all of one file.
std::optional<std::pair<SetExtents, std::uint64_t>> WithChecksums(
    const FileRecord& file, std::span<const ComputedChecksum> computed) {
  SetExtents edit{.id = file.id,
                  .from_offset = computed.front().extent.file_offset,
                  .size = file.size,
                  .mtime_seconds = file.mtime_seconds};
  auto next = computed.begin();
  for (const Extent& extent : file.extents) {
    if (extent.file_offset < edit.from_offset) continue;
    edit.extents.push_back(extent);
    if (next == computed.end() || next->extent.file_offset != extent.file_offset) continue;
    if (next->extent.place != extent.place || next->extent.length != extent.length || extent.crc)
      return std::nullopt;
    edit.extents.back().crc = (next++)->extent.crc;
  }
  if (next != computed.end()) return std::nullopt;
  return std::pair(std::move(edit), computed.size());
}

}  // namespace

Result<std::uint64_t> RecordChecksums(ZonedDevice& device, std::span<const ComputedChecksum> computed) {
  constexpr std::size_t kExtentsInACommit = 1000;
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(*guarded));
  // The end of a file that the older ZenFS had open is a write pointer, so an undo of the upgrade needs it.
  const auto approve = [&](const State& state) -> Status {
    if (!superblock.was_older() || state.epoch() != 0) return {};
    ZENFS_ASSIGN_OR_RETURN(const bool would_finish, Metalog::WouldFinishData(*guarded, superblock));
    if (!would_finish) return {};
    return Fail(
        Code::kBusy,
        fmt::format("{}: zones would have to be finished for it, and then the upgrade can't be undone; "
                    "a scrub after the first read-write mount records them",
                    guarded->name()));
  };
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<Metalog> log, Metalog::Open(*guarded, superblock, approve));
  std::vector<Edit> edits;
  std::size_t extents = 0;
  std::uint64_t recorded = 0;
  Status committed;
  while (committed.ok() && !computed.empty()) {
    const auto other = std::ranges::find_if(
        computed, [&](const ComputedChecksum& each) { return each.file != computed.front().file; });
    const auto of_file = computed.first(static_cast<std::size_t>(other - computed.begin()));
    computed = computed.subspan(of_file.size());
    const auto file = log->recovered().FindFile(of_file.front().file);
    if (auto edit = file == nullptr ? std::nullopt : WithChecksums(*file, of_file)) {
      extents += edit->first.extents.size();
      recorded += edit->second;
      edits.emplace_back(std::move(edit->first));
    }
    if (edits.empty() || (extents < kExtentsInACommit && !computed.empty())) continue;
    committed = log->Commit(std::exchange(edits, {}));
    extents = 0;
  }
  log->Stop();
  ZENFS_RETURN_IF_ERROR(committed);
  return recorded;
}

}  // namespace zenfs
