#include "volume/fsck/check_volume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/counted.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "base/sync_point.h"
#include "buffers/buffer_area_place.h"
#include "device/guarded_device.h"
#include "device/presence.h"
#include "device/read_only_view.h"
#include "device/remembered_holes.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/follower.h"
#include "metalog/metadata_scan.h"
#include "metalog/metazones.h"
#include "metalog/probe.h"
#include "metalog/reconstruct.h"
#include "metalog/replay.h"
#include "model/state.h"
#include "volume/flushed_bytes.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/log_losses.h"
#include "volume/fsck/older_findings.h"
#include "volume/fsck/places.h"
#include "volume/pair_proof.h"
#include "wal/wal_recovery.h"
#include "zone/zone_limits.h"
#include "zone/zone_states.h"

namespace zenfs {
namespace {

// --- metadata zones ---

void AddFinding(CheckReport& out, Severity severity, std::string text, ZoneId zone, DeviceOffset offset) {
  out.findings.Add({severity, std::move(text), zone, offset});
}

// A generation newer than the replayed one may exist and be unreadable, or may be gone.
Status AddDoubt(ZonedDevice& device, const Superblock& superblock, const MetadataScan& scan,
                std::uint64_t generation, CheckReport& out) {
  const Geometry& geometry = device.geometry();
  const Result<Replayed> replayed =
      scan.flaws.empty() ? Fail(Code::kNotFound, "") : Replay(device, superblock);
  if (replayed && replayed->doubt) {
    AddFinding(out, Severity::kError,
               *replayed->doubt + ", or discard those commits with zenfs check --repair",
               replayed->doubtful_zone, geometry.ZoneStart(replayed->doubtful_zone));
  } else if (scan.EndsInSwitch(generation)) {
    const MetadataFrame& last =
        std::ranges::find(scan.generations, generation, &ScannedGeneration::generation)->frames.back();
    AddFinding(
        out, Severity::kWarning,
        fmt::format(
            "metadata zone {}, byte {}: a log switch began after commit {}, but the next generation is "
            "missing: it was never written, or it is lost",
            last.zone.value, last.at, last.last_sequence),
        last.zone, geometry.ZoneStart(last.zone) + last.at);
  }
  return {};
}

// For a log that was replayed. `chain`: the zones of `generation`, the newest complete generation, which was written in `copies`
// zones at a time. Errors: those of a zone report.
[[nodiscard]] Status CheckMetadataZones(ZonedDevice& device, const Superblock& superblock,
                                        std::uint64_t generation, std::span<const ZoneId> chain,
                                        std::uint32_t copies, CheckReport& out) {
  if (copies < CopiesOf(superblock, device.geometry())) {
    AddFinding(
        out, Severity::kWarning,
        fmt::format(
            "the metadata log has one copy: too few metadata zones were good for a second one; the loss of "
            "metadata zone {} would cost the volume",
            fmt::join(chain | std::views::transform(&ZoneId::value), ", ")),
        chain.front(), device.geometry().ZoneStart(chain.front()));
  }
  ZENFS_ASSIGN_OR_RETURN(const MetadataScan scan, ScanMetadata(device, superblock));
  ZENFS_RETURN_IF_ERROR(AddDoubt(device, superblock, scan, generation, out));
  for (const MetadataFlaw& flaw : scan.flaws) {
    const DeviceOffset offset = device.geometry().ZoneStart(flaw.zone) + flaw.at;
    const bool in_use = std::ranges::find(chain, flaw.zone) != chain.end();
    if (flaw.whole_in && std::ranges::find(chain, *flaw.whole_in) != chain.end()) {
      AddFinding(
          out, Severity::kWarning,
          FlawText(flaw) + "; the next read-write mount writes both copies anew, if other zones are good",
          flaw.zone, offset);
    } else if (flaw.kind == MetadataFlaw::Kind::kOffline) {
      AddFinding(out, Severity::kWarning, FlawText(flaw), flaw.zone, offset);
    } else if (!in_use) {
      // A log switch that was interrupted by a power loss leaves such zones; so does the reset of an old generation.
      AddFinding(out, Severity::kNote, FlawText(flaw) + "; the zone is not in use", flaw.zone, offset);
    } else if (flaw.kind == MetadataFlaw::Kind::kTail) {
      AddFinding(out, Severity::kWarning, FlawText(flaw), flaw.zone, offset);
    } else {
      const bool copy = flaw.kind == MetadataFlaw::Kind::kSuperblock;
      AddFinding(out, Severity::kError,
                 FlawText(flaw) + (copy ? "; zenfs check --repair rewrites all copies" : ""), flaw.zone,
                 offset);
    }
  }
  return {};
}

// For a log whose replay failed with `error`: reports the damage, what can be rebuilt, and what is lost. Errors: those of a
// zone report; kNotSupported.
[[nodiscard]] Status ExplainLog(ZonedDevice& device, const Superblock& superblock, const Error& error,
                                CheckReport& out) {
  ZENFS_ASSIGN_OR_RETURN(const MetadataScan scan, ScanMetadata(device, superblock));
  Finding whole{Severity::kError, error.ToString()};
  const auto first = std::ranges::find_if(
      scan.flaws, [](const MetadataFlaw& flaw) { return flaw.kind != MetadataFlaw::Kind::kTail; });
  if (first != scan.flaws.end()) {
    whole.zone = first->zone;
    whole.offset = device.geometry().ZoneStart(first->zone) + first->at;
  }
  out.findings.Add(std::move(whole));
  for (const MetadataFlaw& flaw : scan.flaws) {
    AddFinding(out, flaw.kind == MetadataFlaw::Kind::kTail ? Severity::kWarning : Severity::kError,
               FlawText(flaw), flaw.zone, device.geometry().ZoneStart(flaw.zone) + flaw.at);
  }
  const Result<Reconstructed> found = Reconstruct(device, superblock, scan);
  if (!found && found.error().code() == Code::kNotSupported) return Fail(found.error());
  if (found) {
    out.findings.Add({Severity::kNote,
                      fmt::format("zenfs check --repair can repair this: {}", ReconstructionText(*found))});
  } else {
    out.findings.Add({Severity::kError, found.error().ToString()});
  }
  out.has_state = false;
  return {};
}

// For a device without a valid copy of the superblock; `error` is that of ProbeSuperblock.
[[nodiscard]] Result<CheckReport> ExplainSuperblocks(ZonedDevice& device, const Error& error) {
  CheckReport out;
  out.has_state = false;
  ZENFS_ASSIGN_OR_RETURN(const std::vector<SuperblockCopy> copies, ScanSuperblocks(device));
  for (const SuperblockCopy& copy : copies) {
    // Data zones and log zones hold no copy: their first block has no superblock magic.
    if (copy.superblock || copy.superblock.error().code() == Code::kNotFound) continue;
    AddFinding(
        out, Severity::kError,
        fmt::format("metadata zone {}, byte 0: {}", copy.zone.value, copy.superblock.error().ToString()),
        copy.zone, device.geometry().ZoneStart(copy.zone));
  }
  if (const Result<SuperblockCopy> corrected = CorrectedSuperblock(device)) {
    AddFinding(out, Severity::kError,
               fmt::format(
                   "no copy of the superblock is valid, but the one in metadata zone {} has a single flipped "
                   "bit: zenfs check --repair corrects it",
                   corrected->zone.value),
               corrected->zone, device.geometry().ZoneStart(corrected->zone));
    return out;
  }
  out.findings.Add(
      {Severity::kError,
       fmt::format("no copy of the superblock is valid ({}): without one, no data on the device can be "
                   "verified; restore from a backup",
                   error.ToString())});
  return out;
}

// --- names and extents ---

struct CheckContext {
  ZonedDevice& device;
  const Superblock& superblock;
  std::span<const ZoneId> metadata_zones;
  const State& state;
  std::span<const ZoneInfo> report;
  const FileNames& names;
  CheckReport& out;

  // Calls `text` only if the finding is kept.
  void Add(Severity severity, const std::invocable auto& text, std::optional<ZoneId> zone = std::nullopt,
           std::optional<DeviceOffset> offset = std::nullopt, FileId file = kNoFile) {
    out.findings.Add(severity, [&] {
      FileNames::Paths paths = names.PathsOf(file);
      return Finding{severity, text(), zone, offset, std::move(paths.whole), paths.others};
    });
  }
  void Add(Severity severity, std::string text, std::optional<ZoneId> zone = std::nullopt,
           std::optional<DeviceOffset> offset = std::nullopt, FileId file = kNoFile) {
    Add(severity, [&] { return std::move(text); }, zone, offset, file);
  }
};

constexpr std::size_t kLongPathsNamed = 3;
constexpr std::size_t kPathStartBytes = 60;

// "/a/b/c...": the first bytes of the path of a name in `directory`. The path is longer than that.
std::string StartOfPath(const State& state, FileId directory, std::string_view name) {
  std::vector<std::string_view> names{name};
  while (directory != kRootDirectory) {
    const Directory& at = *state.FindDirectory(directory);
    names.push_back(at.name);
    directory = at.parent;
  }
  std::string path;
  for (; path.size() < kPathStartBytes; names.pop_back()) path.append("/").append(names.back());
  return path.substr(0, kPathStartBytes) + "...";
}

// Paths longer than kMaxPathBytes, which only an earlier version or a foreign program makes. Adds at most one warning.
void CheckPaths(CheckContext& context) {
  const State& state = context.state;
  std::uint64_t count = 0;
  std::size_t longest = 0;
  std::size_t named = 0;
  std::string starts;
  std::vector<std::pair<FileId, std::size_t>> pending{{kRootDirectory, 0}};  // with the bytes of the path
  while (!pending.empty()) {
    const auto [directory, bytes] = pending.back();
    pending.pop_back();
    for (const auto& [name, id] : state.FindDirectory(directory)->entries) {
      const std::size_t path = bytes + (bytes == 0 ? 0 : 1) + name.size();
      if (state.FindDirectory(id) != nullptr) pending.emplace_back(id, path);
      if (path <= kMaxPathBytes) continue;
      ++count;
      longest = std::max(longest, path);
      if (bytes > kMaxPathBytes || named == kLongPathsNamed)
        continue;  // what is below a named one goes unnamed
      starts += (named++ == 0 ? "" : ", ") + StartOfPath(state, directory, name);
    }
  }
  if (count == 0) return;
  context.Add(
      Severity::kWarning,
      fmt::format(
          "{} a path of more than {} bytes, the longest has {}: {}; list, dump and backup leave them out "
          "unless they begin at a directory on the way; zenfs rename can move it up",
          count == 1 ? "1 name has" : fmt::format("{} have", Counted(count, "name")), kMaxPathBytes, longest,
          starts));
}

struct Placed {
  FileId file;
  Extent extent;
};

void CheckOne(CheckContext& context, const Placed& placed) {
  const Geometry& geometry = context.device.geometry();
  const Extent& extent = placed.extent;
  const auto complain = [&](std::optional<ZoneId> zone, std::string_view what) {
    const auto text = [&] {
      return fmt::format("{}: the extent at file offset {}, {} bytes at device byte {}, {}",
                         context.names.Describe(placed.file), extent.file_offset, extent.length,
                         extent.place.value, what);
    };
    context.Add(Severity::kError, text, zone, extent.place, placed.file);
  };
  if (extent.place.value >= geometry.size_bytes())
    return complain(std::nullopt, "lies beyond the end of the device");
  const ZoneId id = geometry.ZoneOf(extent.place);
  const ZoneInfo& zone = context.report[id.value];
  if (!IsMultiple(extent.place.value, geometry.block_size) && !context.superblock.is_older())
    complain(id, "does not begin on a block boundary");
  if (extent.length > zone.capacity) return complain(id, "reaches beyond the capacity of its zone");
  const std::uint64_t end = BlocksOf(extent, geometry.block_size).end() - zone.start;
  if (end > zone.capacity) return complain(id, "reaches beyond the capacity of its zone");
  if (zone.condition == ZoneCondition::kOffline) return complain(id, "is lost: its zone is offline");
  if (end > zone.WrittenBytes()) complain(id, "reaches beyond the write pointer of its zone");
  const std::span<const ZoneId> metadata = context.metadata_zones;
  if (std::ranges::find(metadata, id) != metadata.end()) complain(id, "lies in a metadata zone");
  if (context.state.log_zones().contains(id)) complain(id, "lies in a log zone");
}

// Each extent lies in the written part of a zone that may hold data, and overlaps no other.
void CheckExtents(CheckContext& context) {
  std::vector<Placed> all;
  for (const auto& [id, record] : context.state.files()) {
    for (const Extent& extent : record->extents) all.push_back({id, extent});
  }
  std::ranges::sort(all, {}, [](const Placed& p) { return p.extent.place; });
  const std::uint32_t block = context.device.geometry().block_size;
  std::uint64_t occupied_to = 0;
  FileId occupier;
  for (const Placed& placed : all) {
    CheckOne(context, placed);
    const BlockRange blocks = BlocksOf(placed.extent, block);
    if (blocks.begin.value < occupied_to) {
      const auto text = [&] {
        return fmt::format("{}: the extent at file offset {} overlaps one of {}",
                           context.names.Describe(placed.file), placed.extent.file_offset,
                           context.names.Describe(occupier));
      };
      context.Add(Severity::kError, text, context.device.geometry().ZoneOf(placed.extent.place),
                  placed.extent.place, placed.file);
    }
    if (blocks.end().value > occupied_to) occupier = placed.file;
    occupied_to = std::max(occupied_to, blocks.end().value);
    context.out.data_bytes += blocks.bytes;
  }
  context.out.extents = all.size();
}

// --- all of it ---

constexpr std::uint64_t kReadBytes = 1 << 20;
// How often a check is repeated because the volume was written meanwhile.
constexpr int kTries = 8;

class Check {
 public:
  // `still_there` returns true if the volume still has the unchanged file at the time of the call.
  Check(ZonedDevice& device, const Superblock& superblock, std::span<const ZoneId> metadata_zones,
        const StateWithFlushed& shown, const LiveBuffers& buffers, std::span<const ZoneInfo> report,
        const CheckOptions& options, std::function<bool(const FileRecord&)> still_there, CheckReport& out)
      : names_(shown.state),
        context_{device, superblock, metadata_zones, shown.state, report, names_, out},
        shown_(shown),
        buffers_(buffers),
        options_(options),
        still_there_(std::move(still_there)) {}

  // Errors: those of PresenceMark::Check.
  [[nodiscard]] Status Run() {
    ZENFS_ASSERT(context_.report.size() == context_.device.geometry().zone_count);
    CheckState();
    context_.out.files = context_.state.files().size();
    context_.out.directories = context_.state.directories().size();
    CheckPaths(context_);
    CheckExtents(context_);
    CountCommitted();
    CheckLogZones();
    CheckLogs();
    CheckFlushedBytes();
    CheckZones();
    return options_.read_data ? ReadData() : Status();
  }

 private:
  // The counts are those of committed extents, as in SpaceReport.
  void CountCommitted() {
    const auto count = [this](const FileRecord& record, bool add) {
      std::uint64_t bytes = 0;
      for (const Extent& extent : record.extents)
        bytes += RoundUp(extent.length, context_.device.geometry().block_size);
      context_.out.extents += add ? record.extents.size() : -record.extents.size();
      context_.out.data_bytes += add ? bytes : -bytes;
    };
    for (const auto& [id, committed] : shown_.extended) {
      count(*context_.state.FindFile(id), false);
      count(*committed, true);
    }
  }

  void CheckState() {
    const StateFlaws flaws = context_.state.Flaws();
    for (const StateFlaw& flaw : flaws) {
      std::string text = flaw.text;
      for (const FileId id : flaw.files) {
        const std::string path = names_.PathOf(id);
        text += fmt::format("; {} is {}", id.value, path.empty() ? "without a name" : path);
      }
      context_.Add(Severity::kError, std::move(text), std::nullopt, std::nullopt,
                   flaw.files.empty() ? kNoFile : flaw.files.front());
    }
    context_.out.findings.AddOmitted(Severity::kError, flaws.omitted());
  }

  void CheckLogZones() {
    EpochCheck epoch_check;
    RememberedHoles device(context_.device);
    for (const auto& [id, zone] : context_.state.log_zones()) {
      if (id.value >= context_.report.size()) {
        context_.Add(
            Severity::kError,
            fmt::format("zone {} is allocated to the log, but the device has no such zone", id.value), id);
        continue;
      }
      const ZoneInfo& info = context_.report[id.value];
      if (!CanBeLogZone(id, context_.report, context_.superblock.metadata_zones)) {
        context_.Add(
            Severity::kError,
            fmt::format("zone {} is allocated to the log, but can't be a log zone: it is {}", id.value,
                        info.type == ZoneType::kSequentialRequired ? "a metadata zone" : TypeName(info.type)),
            id, info.start);
        continue;
      }
      if (info.condition == ZoneCondition::kOffline) offline_.push_back(id);
      ScanLogZone(device, context_.superblock.seed, zone, info, [&](const ScannedFrame& frame) {
        ++context_.out.frames;
        epoch_check.See(frame);
        frames_[FileId(frame.owner)].push_back(frame);
      });
    }
    if (const std::uint64_t known = context_.state.epoch(); epoch_check.SawBehind(known)) {
      context_.Add(Severity::kError,
                   epoch_check.Text(known) + "; zenfs check --repair rebuilds the metadata from the log",
                   epoch_check.zone(), epoch_check.place());
    }
  }

  void CheckLogs() {
    ReplayLogs();
    const auto log_of = [this](FileId id) -> const ReplayedLog* {
      const auto it = logs_.find(id);
      return it == logs_.end() ? nullptr : &it->second;
    };
    context_.out.findings.Add(FindLogLosses(context_.device.name(), context_.device.geometry(),
                                            context_.state, names_, offline_, log_of)
                                  .findings);
  }

  void ReplayLogs() {
    for (const auto& [id, record] : context_.state.files()) {
      if (record->shape != FileShape::kFramed) continue;
      const ReplayedLog& log =
          logs_.emplace(id, ReplayLog(*record, context_.state.epoch(), std::move(frames_[id]))).first->second;
      for (const auto& [zone, bytes] : log.zones) {
        log_live_[zone] += bytes;
        context_.out.log_bytes += bytes;
      }
      if (log.open_window) {
        const auto text = [&] {
          return fmt::format(
              "{}: {} bytes of its log are not sealed yet; the next read-write mount seals them",
              names_.Describe(id), log.open_window->end - record->size);
        };
        context_.Add(Severity::kNote, text, std::nullopt, std::nullopt, id);
      }
    }
  }

  void CheckFlushedBytes() {
    const auto size_of = [this](FileId id) -> std::optional<std::uint64_t> {
      if (const auto it = logs_.find(id); it != logs_.end()) return it->second.index.end();
      const auto record = context_.state.FindFile(id);
      return record == nullptr ? std::nullopt : std::optional(record->size);
    };
    for (const FlushedBytes& flushed : buffers_.pieces()) {
      const OrphanedBytes& piece = flushed.piece;
      const auto have = size_of(piece.owner);
      if (!have || piece.end() <= *have || piece.file_offset <= *have || piece.IsStale(*have)) continue;
      if (shown_.flaws.contains(piece.owner)) continue;
      // The second buffer of a log follows the first one.
      const auto begins_before = [&](const FlushedBytes& other) {
        return other.piece.owner == piece.owner && other.piece.file_offset < piece.file_offset &&
               other.piece.end() > *have;
      };
      if (std::ranges::any_of(buffers_.pieces(), begins_before)) continue;
      context_.Add(
          Severity::kError,
          LostBeforeFlushedText(names_.Describe(piece.owner), *have, piece.file_offset, piece.bytes.size()),
          std::nullopt, std::nullopt, piece.owner);
    }
    std::string waiting = DescribeWaitingBytes(buffers_, [&](FileId id) {
      const auto it = shown_.extended.find(id);
      return it == shown_.extended.end() ? size_of(id) : it->second->size;
    });
    if (!waiting.empty()) context_.Add(Severity::kNote, std::move(waiting));
    if (buffers_.problem().empty()) return;
    context_.out.unsynced = buffers_.problem();
    context_.Add(buffers_.damaged() ? Severity::kError : Severity::kWarning, buffers_.problem());
  }

  void CheckZones() {
    std::set<ZoneId> holds_extents;
    const Geometry& geometry = context_.device.geometry();
    for (const auto& [id, record] : context_.state.files()) {
      for (const Extent& extent : record->extents) holds_extents.insert(geometry.ZoneOf(extent.place));
    }
    std::uint32_t active = 0;
    std::uint32_t log_active = 0;  // on a second device
    for (const ZoneInfo& zone : context_.report) {
      (geometry.OnLogDevice(zone.id) ? log_active : active) += IsActive(zone.condition) ? 1 : 0;
      const bool metadata = std::ranges::find(context_.superblock.metadata_zones, zone.id) !=
                            context_.superblock.metadata_zones.end();
      if (metadata) context_.out.metadata_bytes += zone.WrittenBytes();
      if (metadata || zone.WrittenBytes() == 0 || holds_extents.contains(zone.id)) continue;
      if (context_.state.log_zones().contains(zone.id)) {
        if (log_live_[zone.id] == 0) {
          context_.Add(Severity::kNote,
                       fmt::format("log zone {} holds no live frame; a reset will free its {} KiB",
                                   zone.id.value, zone.WrittenBytes() / 1024),
                       zone.id, zone.start);
        }
        continue;
      }
      const std::string text =
          zone.condition == ZoneCondition::kReadOnly
              ? fmt::format("zone {} is read-only and holds no data of a file; its space is lost",
                            zone.id.value)
              : fmt::format("zone {} holds {} KiB that no file points to{}", zone.id.value,
                            zone.WrittenBytes() / 1024,
                            context_.superblock.is_older() ? "" : "; the next read-write mount resets it");
      context_.Add(Severity::kNote, text, zone.id, zone.start);
    }
    CheckActive(active, geometry.max_active);
    CheckActive(log_active, geometry.log_max_active);
  }

  void CheckActive(std::uint32_t active, std::uint32_t limit) {
    if (limit == 0 || active <= limit) return;
    context_.Add(Severity::kWarning,
                 fmt::format("{} zones are active, but the device's limit is {}", active, limit));
  }

  Status ReadData() {
    std::uint64_t total = 0;
    for (const auto& [id, record] : context_.state.files()) total += record->ExtentsEnd();
    std::uint64_t done = 0;
    AlignedBuffer buffer;  // grows to the largest piece
    for (const auto& [id, record] : context_.state.files()) {
      for (const Extent& extent : record->extents) {
        ZENFS_ASSIGN_OR_RETURN(const bool is_there, ReadExtent(*record, extent, buffer));
        if (!is_there) break;
        done += extent.length;
        if (options_.progress) options_.progress(done, total);
      }
    }
    return {};
  }

  // False if the file is gone or has changed.
  Result<bool> ReadExtent(const FileRecord& file, const Extent& extent, AlignedBuffer& buffer) {
    const BlockRange blocks = BlocksOf(extent, context_.device.geometry().block_size);
    if (!LiesInOneZone({.place = blocks.begin, .length = blocks.bytes}, context_.device.geometry()))
      return true;  // CheckExtents has reported it
    const std::uint64_t skip = extent.place - blocks.begin;
    const std::uint64_t length = blocks.bytes;
    const std::uint64_t piece = std::min(kReadBytes, length);
    if (buffer.capacity() < piece) buffer = AlignedBuffer(piece);
    KnownCrc sum = 0;  // unknown once a piece can't be read
    for (std::uint64_t at = 0; at < length; at += buffer.size()) {
      buffer.Resize(std::min(piece, length - at));
      const Status read = context_.device.Read(blocks.begin + at, buffer.Span());
      if (read.ok()) {
        const std::uint64_t from = at == 0 ? skip : 0;
        const std::uint64_t to = std::min<std::uint64_t>(buffer.size(), skip + extent.length - at);
        if (sum) sum = Crc32c(buffer.View(from, to - from), *sum);
        continue;
      }
      sum.reset();
      ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(context_.device));
      if (!still_there_(file)) return false;
      const auto text = [&] {
        return fmt::format("{}: bytes from {} can't be read: {}", names_.Describe(file.id),
                           extent.file_offset + (at == 0 ? 0 : at - skip), read.error().ToString());
      };
      context_.Add(Severity::kError, text, context_.device.geometry().ZoneOf(extent.place), blocks.begin + at,
                   file.id);
    }
    if (!sum || sum == extent.crc.value_or(*sum)) return true;
    if (!still_there_(file)) return false;
    const Geometry& geometry = context_.device.geometry();
    const ZoneId zone = geometry.ZoneOf(extent.place);
    const auto text = [&] {
      return fmt::format(
          "{}: bytes {} to {} do not match their checksum; they are in zone {} from byte {} on",
          names_.Describe(file.id), extent.file_offset, extent.end(), zone.value,
          extent.place - geometry.ZoneStart(zone));
    };
    context_.Add(Severity::kError, text, zone, extent.place, file.id);
    return true;
  }

  const FileNames names_;
  CheckContext context_;
  const StateWithFlushed& shown_;
  const LiveBuffers& buffers_;
  const CheckOptions& options_;
  const std::function<bool(const FileRecord&)> still_there_;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames_;
  std::unordered_map<FileId, ReplayedLog> logs_;
  std::vector<ZoneId> offline_;
  std::map<ZoneId, std::uint64_t> log_live_;
};

// Checks the whole volume once. `moved`: it was written meanwhile, so findings may come from that race.
Result<CheckReport> CheckOnce(ZonedDevice& device, const Superblock& superblock, LogFollower& follower,
                              const CheckOptions& options, bool& moved) {
  CheckReport out;
  if (const auto refreshed = follower.Refresh(); !refreshed) {
    if (refreshed.error().code() == Code::kTimedOut) return Fail(refreshed.error());
    moved = false;  // the follower has verified this
    if (refreshed.error().code() == Code::kNotSupported) return Fail(refreshed.error());
    if (superblock.is_older()) {
      out.findings.Add({Severity::kError, refreshed.error().ToString()});
      out.has_state = false;
      return out;
    }
    ZENFS_RETURN_IF_ERROR(ExplainLog(device, superblock, refreshed.error(), out));
    return out;
  }
  // Before the zones are looked at: what leaves the buffers meanwhile is on the device then.
  LiveBuffers buffers;
  buffers.Update(BuffersOf(follower.state(), superblock.uuid, device),
                 Deadline::After(LogFollower::kPatience));
  const std::vector<ZoneId> metadata_zones = follower.metadata_zones();
  const StateWithFlushed shown = AddFlushedExtents(follower.state(), buffers, metadata_zones, device);
  const State& state = shown.state;  // a copy: Refresh changes the follower's state
  const LogFingerprint fingerprint = follower.fingerprint();
  const std::vector<ZoneId> chain = follower.chain();
  const std::uint64_t generation = follower.generation();
  const std::uint32_t copies = follower.copies();
  const auto report_all = [&] { return ReportAll(device); };
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, report_all());
  // The last answer stands while the log does not change: to compare records takes the time of all their extents.
  FileId asked = kNoFile;
  bool answer = false;
  const auto still_there = [&](const FileRecord& file) {
    const auto change = follower.Refresh();
    if (!change) {
      asked = kNoFile;
      return true;
    }
    if (*change == LogFollower::Change::kNone && asked == file.id) return answer;
    const auto now = follower.state().FindFile(file.id);
    asked = file.id;
    answer = now != nullptr && (now.get() == &file || shown.extended.contains(file.id) || *now == file);
    return answer;
  };
  SyncPoint::Reach("CheckVolume:reported");
  if (superblock.is_older()) {
    AddOlderFindings(device, superblock, follower.older_flaws(), out.findings);
  } else {
    ZENFS_RETURN_IF_ERROR(CheckMetadataZones(device, superblock, generation, chain, copies, out));
  }
  for (const auto& [id, flaw] : shown.flaws) out.findings.Add(flaw);
  if (!state.buffer_place().empty() && !BufferAreaPlace::Parse(state.buffer_place())) {
    out.findings.Add(
        {Severity::kError,
         fmt::format("the metadata log names \"{}\" as the append buffers of the last mount, which is not a "
                     "valid place: zenfs check --repair removes it",
                     state.buffer_place())});
  }
  ZENFS_RETURN_IF_ERROR(
      Check(device, superblock, metadata_zones, shown, buffers, report, options, still_there, out).Run());
  ZENFS_ASSIGN_OR_RETURN(const LogCheck log, CheckLog(device, superblock, fingerprint));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> after, report_all());
  moved =
      log.moved || !std::ranges::equal(report, after, {}, &ZoneInfo::WrittenBytes, &ZoneInfo::WrittenBytes);
  return out;
}

Result<CheckReport> CheckOnView(ZonedDevice& device, const CheckOptions& options) {
  ZENFS_ASSERT(device.mode() == OpenMode::kReadOnly);
  const Result<Superblock> probed = ProbeReadable(device);
  if (!probed) {
    const Code code = probed.error().code();
    if (code != Code::kCorruption && code != Code::kIo) return Fail(probed.error());
    return ExplainSuperblocks(device, probed.error());
  }
  const Superblock& superblock = *probed;
  ZENFS_RETURN_IF_ERROR(PlanSlots(device.geometry(), device.name()));
  LogFollower follower(device, superblock);
  // What the wrong device lacks would only be reported as damage.
  ZENFS_RETURN_IF_ERROR(CheckPairOf(device, follower));
  for (int tries = 0; tries < kTries; ++tries) {
    bool moved = false;
    ZENFS_ASSIGN_OR_RETURN(CheckReport out, CheckOnce(device, superblock, follower, options, moved));
    if (!moved) return out;
    if (!out.clean() || !out.unsynced.empty()) continue;
    out.findings.Add({Severity::kNote,
                      "the volume was written during the check: notes about single zones may be "
                      "outdated"});
    return out;
  }
  return Fail(
      Code::kBusy,
      fmt::format(
          "{}: the volume is being written, and changed during each of {} tries to check it; check it "
          "when the writer is idle",
          device.name(), kTries));
}

}  // namespace

Result<CheckReport> CheckVolume(ZonedDevice& device, const CheckOptions& options) {
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  const std::unique_ptr<ZonedDevice> view = MakeReadOnlyView(*guarded);
  Result<CheckReport> report = CheckOnView(*view, options);
  // Also if nothing was found: a log whose end could not be read looks shorter.
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*view));
  ZENFS_ASSERT(!report || report->has_state || !report->clean());  // else nobody would hear of the damage
  return report;
}

}  // namespace zenfs
