#include "metalog/older_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/counted.h"
#include "device/flush_mark.h"
#include "format/older_format.h"
#include "metalog/zone_reader.h"

namespace zenfs {
namespace {

// Files keep their ids, except those that stand for no file and the root here. Directories follow, which have no ids there.
constexpr std::uint64_t kFirstFreeId = 2;
constexpr std::uint64_t kFirstDirectoryId = std::uint64_t{1} << 59;
static_assert(kFirstDirectoryId < kStateNumbersStart);

FileId IdOf(std::uint64_t id) {
  return FileId(id < kFirstFreeId ? kFirstDirectoryId - kFirstFreeId + id : id);
}

std::unexpected<Error> Corrupt(const ZonedDevice& device, const std::string& what) {
  return Fail(Code::kCorruption, fmt::format("{}: the metadata of the older ZenFS {}", device.name(), what));
}

// --- superblocks ---

Result<OlderSuperblock> ReadSuperblock(ZonedDevice& device, const ZoneInfo& zone) {
  const std::uint64_t bytes = RoundUp(kOlderSuperblockRecordBytes, device.geometry().block_size);
  AlignedBuffer block(bytes);
  block.Resize(bytes);
  if (zone.WrittenBytes() < block.size()) return Fail(Code::kNotFound, "no superblock");
  ZENFS_RETURN_IF_ERROR(device.Read(zone.start, block.Span()));
  if (!HasOlderSuperblockMagic(block.View())) return Fail(Code::kNotFound, "no superblock");
  const std::optional<ByteView> payload = ParseOlderRecord(block.View());
  if (!payload) return Fail(Code::kCorruption, "its checksum does not match");
  return DecodeOlderSuperblock(*payload);
}

}  // namespace

std::string OlderVolumeText(const std::string& device, const Superblock& superblock) {
  return fmt::format(
      "{}: a volume of the older ZenFS, format {}, which is only read; it has no checksums of "
      "contents and no times of directories",
      device, superblock.version);
}

namespace {

struct FoundOlder {
  std::vector<ZoneId> zones;
  std::optional<OlderSuperblock> newest;
  std::optional<Error> damage;
};

Result<FoundOlder> LookForOlder(ZonedDevice& device) {
  const std::uint32_t count = device.geometry().main_zones();
  FoundOlder out;
  for (std::uint32_t i = 0; i < count && out.zones.size() < kOlderMetadataZones; ++i) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo zone, device.ReportZone(ZoneId(i)));
    if (zone.type != ZoneType::kSequentialRequired) continue;
    out.zones.push_back(zone.id);
    Result<OlderSuperblock> found = ReadSuperblock(device, zone);
    if (!found && found.error().code() != Code::kNotFound && !out.damage)
      out.damage = found.error().With(
          fmt::format("{}: the superblock of the older ZenFS in zone {}", device.name(), i));
    if (found && (!out.newest || out.newest->sequence < found->sequence)) out.newest = *std::move(found);
  }
  return out;
}

}  // namespace

Result<Superblock> FindOlderSuperblock(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(FoundOlder found, LookForOlder(device));
  if (!found.newest && found.damage) return Fail(Code::kCorruption, found.damage->text());
  if (!found.newest || found.newest->sequence == kOlderUndoSequence)
    return Fail(Code::kNotFound, fmt::format("{}: no older ZenFS", device.name()));
  found.newest->superblock.metadata_zones = std::move(found.zones);
  return std::move(found.newest->superblock);
}

std::vector<std::optional<std::uint32_t>> OlderSequences(ZonedDevice& device,
                                                         const std::vector<ZoneInfo>& zones) {
  std::vector<std::optional<std::uint32_t>> sequences;
  for (const ZoneInfo& zone : zones) {
    const Result<OlderSuperblock> found = ReadSuperblock(device, zone);
    sequences.push_back(found ? std::optional(found->sequence) : std::nullopt);
  }
  return sequences;
}

// --- records ---

namespace {

// A file while the log is replayed.
struct File {
  std::uint64_t size = 0;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t mtime_seconds = 0;
  std::uint64_t active_start = OlderFile::kNoActiveExtent;
  bool framed = false;
  std::set<std::string> names;
  std::vector<OlderExtent> extents;

  // It was being written when it was recorded.
  bool is_open() const { return active_start != OlderFile::kNoActiveExtent; }
  void Merge(OlderFile&& change, bool replaces_extents) {
    size = change.size.value_or(size);
    lifetime = change.lifetime.value_or(lifetime);
    mtime_seconds = change.mtime_seconds.value_or(mtime_seconds);
    active_start = change.active_start.value_or(active_start);
    framed |= change.framed;
    if (!change.names.empty()) names = {change.names.begin(), change.names.end()};
    if (replaces_extents) extents.clear();
    extents.insert(extents.end(), change.extents.begin(), change.extents.end());
  }
};
using Files = std::map<std::uint64_t, File>;

class Replayer {
 public:
  explicit Replayer(Files& files) : files_(files) {}

  void operator()(OlderSnapshot&& snapshot) {
    files_.clear();
    for (OlderFile& file : snapshot.files) {
      const auto [it, first] = files_.try_emplace(file.id);
      if (first) it->second.Merge(std::move(file), true);
    }
  }
  void operator()(OlderUpdate&& update) {
    files_[update.file.id].Merge(std::move(update.file), update.replaces_extents);
  }
  void operator()(OlderDeletion&& deletion) {
    const auto it = files_.find(deletion.id);
    if (it == files_.end()) return;  // created and deleted before it was recorded
    it->second.names.erase(deletion.name);
    if (it->second.names.empty()) files_.erase(it);
  }
  void operator()(OlderEnd&&) { ended_ = true; }

  bool ended() const { return ended_; }

 private:
  Files& files_;
  bool ended_ = false;
};

struct ZoneReplay {
  bool has_snapshot = false;
  std::uint64_t records = 0;  // without the superblock
  std::uint64_t end = 0;      // byte of the zone where the log ends
  std::string why;            // why it ends before the write pointer; empty if it does not
};

std::uint64_t RecordEnd(std::uint64_t at, std::uint32_t payload, std::uint32_t block) {
  return at + RoundUp(kOlderRecordHeaderBytes + std::uint64_t{payload}, block);
}

// The first block from `at` on where a whole record is, or nothing. A bound, since each block may claim a long payload.
std::optional<std::uint64_t> FindRecord(ZoneReader& reader, std::uint64_t at, std::uint32_t block) {
  constexpr std::uint64_t kBytesSummedMax = std::uint64_t{256} << 20;
  std::uint64_t summed = 0;
  for (; at < reader.end() && summed < kBytesSummedMax; at += block) {
    const std::uint32_t payload = OlderPayloadBytes(reader.View(at, block));
    const std::uint64_t bytes = kOlderRecordHeaderBytes + std::uint64_t{payload};
    if (payload == 0 || bytes > reader.end() - at) continue;
    summed += bytes;
    if (ParseOlderRecord(reader.View(at, bytes))) return at;
  }
  return std::nullopt;
}

// Replays the log in one zone. Errors: kCorruption if a record is damaged and another one follows, or contradicts itself.
Result<ZoneReplay> ReplayZone(ZonedDevice& device, const ZoneInfo& zone, std::uint32_t version,
                              Files& files) {
  const std::uint32_t block = device.geometry().block_size;
  ZoneReader reader(device, zone.id, RoundDown(zone.WrittenBytes(), block));
  Replayer replayer(files);
  ZoneReplay out{.end = RecordEnd(0, OlderPayloadBytes(reader.View(0, block)), block)};
  while (out.end < reader.end() && !replayer.ended()) {
    const std::uint64_t bytes =
        kOlderRecordHeaderBytes + std::uint64_t{OlderPayloadBytes(reader.View(out.end, block))};
    const ByteView view = bytes > reader.end() - out.end ? ByteView() : reader.View(out.end, bytes);
    const std::optional<ByteView> payload = ParseOlderRecord(view.first(std::min(view.size(), bytes)));
    if (!payload) break;
    Result<OlderRecord> record = DecodeOlderRecord(*payload, version);
    if (!record)
      return Corrupt(device, fmt::format("has {} at byte {} of zone {}; restore from a backup",
                                         record.error().text(), out.end, zone.id.value));
    const bool is_snapshot = std::holds_alternative<OlderSnapshot>(*record);
    if (!out.has_snapshot && !is_snapshot) break;
    out.has_snapshot = true;
    std::visit([&](auto&& each) { replayer(std::move(each)); }, std::move(*record));
    ++out.records;
    out.end += RoundUp(bytes, block);
  }
  if (out.end >= reader.end() || replayer.ended()) return out;
  if (reader.SkipZeros(out.end) >= reader.end() && !reader.met_unreadable()) return out;  // finished early
  if (const auto next = FindRecord(reader, out.end + block, block)) {
    return Corrupt(device,
                   fmt::format("is damaged at byte {} of zone {}, and a record follows at byte {}, so "
                               "changes would be missing; restore from a backup",
                               out.end, zone.id.value, *next));
  }
  out.why = fmt::format("{} bytes from byte {} of metadata zone {} on are no whole record",
                        reader.end() - out.end, out.end, zone.id.value);
  return out;
}

}  // namespace

Result<OlderRemains> FindOlderRemains(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(const FoundOlder found, LookForOlder(device));
  if (!found.newest) return OlderRemains::kNone;
  if (found.newest->sequence == kOlderUndoSequence) return OlderRemains::kUndo;
  for (const ZoneId id : found.zones) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo zone, device.ReportZone(id));
    if (!ReadSuperblock(device, zone)) continue;
    Files files;
    const Result<ZoneReplay> replay = ReplayZone(device, zone, found.newest->superblock.version, files);
    if (replay && replay->has_snapshot) return OlderRemains::kLog;
  }
  return OlderRemains::kNone;
}

Status WipeOlderPlaces(ZonedDevice& device, std::span<const ZoneId> keep) {
  ZENFS_ASSIGN_OR_RETURN(const FoundOlder found, LookForOlder(device));
  AlignedBuffer block(RoundUp(kSuperblockBytes, device.geometry().block_size));
  for (const ZoneId id : found.zones) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo zone, device.ReportZone(id));
    const bool is_bad =
        zone.condition == ZoneCondition::kOffline || zone.condition == ZoneCondition::kReadOnly;
    if (is_bad || std::ranges::find(keep, id) != keep.end()) continue;
    block.Resize(block.capacity());
    if (zone.WrittenBytes() >= block.size() && device.Read(zone.start, block.Span()).ok() &&
        DecodeSuperblock(block.View()))
      continue;
    if (zone.condition != ZoneCondition::kEmpty) {
      ZENFS_RETURN_IF_ERROR(device.Reset(id));
      ZENFS_RETURN_IF_ERROR(FlushDevice(device));
    }
    block.Resize(device.geometry().block_size);
    std::ranges::fill(block.Span(), std::byte{0});
    ZENFS_RETURN_IF_ERROR(device.Write(zone.start, block.View()));
    ZENFS_RETURN_IF_ERROR(FlushDevice(device));
    ZENFS_RETURN_IF_ERROR(device.Reset(id));
    ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  }
  return {};
}

Status CheckNotBeingUndone(ZonedDevice& device, const Superblock& superblock) {
  if (!superblock.was_older()) return {};
  ZENFS_ASSIGN_OR_RETURN(const OlderRemains remains, FindOlderRemains(device));
  if (remains != OlderRemains::kUndo) return {};
  return Fail(
      Code::kReadOnly,
      fmt::format("{}: the undo of its upgrade was interrupted; run zenfs upgrade --undo=FILE again, or "
                  "zenfs upgrade to stay with this ZenFS",
                  device.name()));
}

namespace {

// --- extents ---

// Where extents may be, and which places are taken. Turns places of the older ZenFS into extents.
class Places {
 public:
  Places(ZonedDevice& device, const Superblock& superblock)
      : device_(device), superblock_(superblock), block_(device.geometry().block_size) {}

  // Takes the place of an extent of a record. Errors: kCorruption, beginning with "extent".
  Result<DeviceOffset> Take(const OlderExtent& extent) {
    ZENFS_ASSIGN_OR_RETURN(const DeviceOffset place, PlaceOf(extent));
    const auto [it, is_new] =
        begins_.try_emplace(RoundDown(place.value, block_), RoundUp(place.value + extent.length, block_));
    if (!is_new || Overlaps(it))
      return Fail(Code::kCorruption, fmt::format("extent of {} bytes at device byte {} overlaps another one",
                                                 extent.length, extent.start));
    return place;
  }

  // The bytes from `start`, where an extent was being written, to the write pointer of the zone, or to whatever else is there.
  // Errors: kNotFound, with the reason, if there can be none.
  struct Open {
    DeviceOffset from;
    std::uint64_t bytes = 0;
  };
  Result<Open> TakeOpen(std::uint64_t start) {
    const Result<DeviceOffset> place = PlaceOf({.start = start, .length = 1});
    if (!place || !IsMultiple(place->value, block_))
      return Fail(Code::kNotFound, fmt::format("device byte {} is no place for it", start));
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo zone, device_.ReportZone(device_.geometry().ZoneOf(*place)));
    if (zone.condition == ZoneCondition::kOffline)
      return Fail(Code::kNotFound, fmt::format("zone {} is offline", zone.id.value));
    std::uint64_t end = zone.start.value + RoundDown(zone.WrittenBytes(), block_);
    const auto next = begins_.upper_bound(place->value);
    if (next != begins_.end()) end = std::min(end, next->first);
    const auto next_open = open_.upper_bound(place->value);
    if (next_open != open_.end()) end = std::min(end, *next_open);
    if (next != begins_.begin() && std::prev(next)->second > place->value)
      return Fail(Code::kNotFound, fmt::format("other bytes are at device byte {}", start));
    if (end <= place->value) return Open{.from = *place, .bytes = 0};
    begins_[place->value] = end;
    return Open{.from = *place, .bytes = end - place->value};
  }
  // Notes the start of an open extent, which ends the bytes of one before it. Call it for all after the last Take.
  void NoteOpen(std::uint64_t start) {
    if (const auto place = PlaceOf({.start = start, .length = 1}); place && IsMultiple(place->value, block_))
      open_.insert(place->value);
  }
  std::set<ZoneId> OpenZones() const {
    std::set<ZoneId> zones;
    for (const std::uint64_t start : open_) zones.insert(ZoneOf(DeviceOffset(start)));
    return zones;
  }

  ZoneId ZoneOf(DeviceOffset place) const { return device_.geometry().ZoneOf(place); }

 private:
  using Begins = std::map<std::uint64_t, std::uint64_t>;

  // The address space of the older ZenFS counts zones of the size in its superblock, which is that of the device.
  Result<DeviceOffset> PlaceOf(const OlderExtent& extent) const {
    const Geometry& geometry = device_.geometry();
    const auto refuse = [&](std::string_view why) {
      return Fail(Code::kCorruption,
                  fmt::format("extent of {} bytes at device byte {} {}", extent.length, extent.start, why));
    };
    if (extent.start >= geometry.size_bytes()) return refuse("is beyond the end of the device");
    const DeviceOffset place(extent.start);
    const ZoneId zone = geometry.ZoneOf(place);
    if (extent.length > geometry.zone_size - (place - geometry.ZoneStart(zone)))
      return refuse("is not within one zone");
    if (std::ranges::find(superblock_.metadata_zones, zone) != superblock_.metadata_zones.end())
      return refuse("is in a metadata zone");
    return place;
  }
  bool Overlaps(Begins::const_iterator it) const {
    const auto next = std::next(it);
    return (next != begins_.end() && next->first < it->second) ||
           (it != begins_.begin() && std::prev(it)->second > it->first);
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const std::uint32_t block_;
  Begins begins_;                 // block ranges: begin, end
  std::set<std::uint64_t> open_;  // begins of those that are open
};

// Turns the files of a log into the edits that make a State.
class StateMaker {
 public:
  StateMaker(ZonedDevice& device, const Superblock& superblock,
             std::map<std::string, FileId, std::less<>>& directories, std::vector<OlderFlaw>& flaws)
      : device_(device), places_(device, superblock), directories_(directories), flaws_(flaws) {}

  // Errors: kCorruption without the device's name, or those of a zone report.
  Result<State> Make(const Files& files) {
    Edits edits;
    for (const auto& [id, file] : files) {
      if (id >= kFirstDirectoryId - kFirstFreeId)
        return Fail(Code::kCorruption, fmt::format("has file {}, a number that no writer reaches", id));
      if (file.names.empty()) return Fail(Code::kCorruption, fmt::format("has file {} without a name", id));
      edits.emplace_back(
          CreateFile{.id = IdOf(id), .lifetime = file.lifetime, .mtime_seconds = file.mtime_seconds});
      for (const std::string& name : file.names) ZENFS_RETURN_IF_ERROR(AddName(name, id, edits));
    }
    ZENFS_RETURN_IF_ERROR(AddExtents(files, edits));
    edits.emplace_back(RaiseCounters{.next_id = kFirstDirectoryId + directories_.size()});
    State state;
    if (Status applied = state.Apply(edits); !applied.ok())
      return Fail(Code::kCorruption, "contradicts itself: " + applied.error().text());
    return state;
  }
  std::set<ZoneId> OpenZones() const { return places_.OpenZones(); }

 private:
  using Edits = std::vector<Edit>;

  // Makes the directories on the way: the older ZenFS keeps its own on the host.
  Status AddName(const std::string& path, std::uint64_t id, Edits& edits) {
    if (path.size() > kMaxPathBytes)
      return Fail(Code::kCorruption, fmt::format("has a path of {} bytes for file {}", path.size(), id));
    FileId parent = kRootDirectory;
    std::string above;
    std::string_view rest = path;
    while (rest.starts_with('/')) rest.remove_prefix(1);
    for (;;) {
      const std::size_t slash = rest.find('/');
      const std::string name(rest.substr(0, slash));
      if (!IsValidName(name))
        return Fail(Code::kCorruption, fmt::format("has an invalid path for file {}", id));
      rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash);
      while (rest.starts_with('/')) rest.remove_prefix(1);
      if (rest.empty()) {
        edits.emplace_back(LinkFile{.parent = parent, .name = name, .id = IdOf(id)});
        return {};
      }
      above += above.empty() ? name : "/" + name;
      const auto [known, is_new] =
          directories_.try_emplace(above, FileId(kFirstDirectoryId + directories_.size()));
      if (made_.insert(above).second)
        edits.emplace_back(CreateDirectory{.id = known->second, .parent = parent, .name = name});
      parent = known->second;
    }
  }

  Status AddExtents(const Files& files, Edits& edits) {
    std::map<std::uint64_t, SetExtents> all;
    for (const auto& [id, file] : files) {
      SetExtents& made = all[id];
      made = {.id = IdOf(id), .mtime_seconds = file.mtime_seconds};
      for (const OlderExtent& extent : file.extents) {
        if (extent.length == 0) continue;
        const auto place = places_.Take(extent);
        if (!place)
          return Fail(Code::kCorruption, fmt::format("is damaged: file {}: {}", id, place.error().text()));
        Append(made, *place, extent.length);
      }
      if (!file.is_open()) FitToSize(file, made);
    }
    for (const auto& [id, file] : files) {
      if (file.is_open()) places_.NoteOpen(file.active_start);
    }
    for (const auto& [id, file] : files) {
      if (file.is_open()) ZENFS_RETURN_IF_ERROR(AddOpen(file, all[id]));
    }
    for (auto& [id, made] : all) {
      if (!made.extents.empty()) edits.emplace_back(std::move(made));
    }
    return {};
  }

  static void Append(SetExtents& to, DeviceOffset place, std::uint64_t length) {
    to.extents.push_back({.file_offset = to.size, .place = place, .length = length});
    to.size += length;
  }

  // A truncated file keeps its extents in the records.
  void FitToSize(const File& file, SetExtents& made) {
    if (made.size < file.size) {
      flaws_.push_back({.text = fmt::format("{}: the metadata says {} bytes, but names the places of {} only",
                                            *file.names.begin(), file.size, made.size),
                        .loss = true});
    }
    while (made.size > file.size) {
      Extent& last = made.extents.back();
      const std::uint64_t cut = std::min(last.length, made.size - file.size);
      last.length -= cut;
      made.size -= cut;
      if (last.length == 0) made.extents.pop_back();
    }
  }

  // The bytes of a file that was open when its writer ended.
  Status AddOpen(const File& file, SetExtents& made) {
    const auto open = places_.TakeOpen(file.active_start);
    if (!open && open.error().code() != Code::kNotFound) return Fail(open.error());
    const std::string& name = *file.names.begin();
    if (!open) {
      flaws_.push_back(
          {.text = fmt::format("{}: it was open, and bytes after its last sync may be missing: {}", name,
                               open.error().text()),
           .loss = true});
      return {};
    }
    if (open->bytes == 0) return {};
    if (!file.framed) {
      Append(made, open->from, open->bytes);
      return {};
    }
    return AddSegments(name, *open, made);
  }

  Status AddSegments(const std::string& name, const Places::Open& open, SetExtents& made) {
    const std::uint32_t block = device_.geometry().block_size;
    AlignedBuffer buffer(block);
    buffer.Resize(block);
    for (std::uint64_t at = 0; at < open.bytes;) {
      const std::uint64_t room = open.bytes - at - kOlderSegmentHeaderBytes;
      std::uint64_t length = 0;
      const Status read = device_.Read(open.from + at, buffer.Span());
      if (read.ok()) std::memcpy(&length, buffer.data(), sizeof length);
      if (read.ok() && length == 0) return {};  // the zone was finished
      if (!read.ok() || length > room) {
        const ZoneId zone = places_.ZoneOf(open.from);
        const std::uint64_t in_zone = open.from + at - device_.geometry().ZoneStart(zone);
        flaws_.push_back({.text = fmt::format("{}: its last write was interrupted: {} bytes from byte {} of "
                                              "zone {} on are no whole segment",
                                              name, open.bytes - at, in_zone, zone.value),
                          .zone = zone,
                          .at = in_zone});
        return {};
      }
      Append(made, open.from + at + kOlderSegmentHeaderBytes, length);
      at += RoundUp(kOlderSegmentHeaderBytes + length, block);
    }
    return {};
  }

  ZonedDevice& device_;
  Places places_;
  std::map<std::string, FileId, std::less<>>& directories_;
  std::set<std::string, std::less<>> made_;
  std::vector<OlderFlaw>& flaws_;
};

}  // namespace

Status OlderLog::Read() {
  std::vector<ZoneInfo> zones;
  for (const ZoneId zone : superblock_.metadata_zones) {
    ZENFS_ASSIGN_OR_RETURN(zones.emplace_back(), device_.ReportZone(zone));
  }
  return Read(zones);
}

Status OlderLog::Read(const std::vector<ZoneInfo>& zones) {
  struct Candidate {
    std::uint32_t sequence = 0;
    ZoneInfo zone;
  };
  std::vector<Candidate> candidates;
  const auto sequences = OlderSequences(device_, zones);
  for (std::size_t i = 0; i < zones.size(); ++i) {
    if (sequences[i]) candidates.push_back({*sequences[i], zones[i]});
  }
  std::ranges::sort(candidates, std::ranges::greater(), &Candidate::sequence);
  std::vector<OlderFlaw> flaws;
  for (const Candidate& candidate : candidates) {
    Files files;
    const ZoneId zone = candidate.zone.id;
    ZENFS_ASSIGN_OR_RETURN(ZoneReplay replay,
                           ReplayZone(device_, candidate.zone, superblock_.version, files));
    if (!replay.has_snapshot) {
      flaws.push_back(
          {.text = fmt::format("metadata zone {} has sequence {}, but no whole snapshot: a switch "
                               "of the log was interrupted there, and an earlier zone is used",
                               zone.value, candidate.sequence),
           .zone = zone,
           .at = replay.end});
      continue;
    }
    if (!replay.why.empty()) {
      flaws.push_back({.text = replay.why + ": the last change was interrupted, and never happened",
                       .zone = zone,
                       .at = replay.end});
    }
    StateMaker maker(device_, superblock_, directories_, flaws);
    auto state = maker.Make(files);
    if (!state && state.error().code() == Code::kCorruption)
      return Corrupt(device_, state.error().text() + "; restore from a backup");
    if (!state) return Fail(state.error());
    replayed_ = {};
    replayed_.state = *std::move(state);
    replayed_.generation = replayed_.highest_generation = candidate.sequence;
    replayed_.chain = {zone};
    replayed_.places = 1;
    replayed_.position = replay.end;
    replayed_.frames = replayed_.sequence = replay.records;
    flaws_ = std::move(flaws);
    open_zones_ = maker.OpenZones();
    return {};
  }
  return Corrupt(device_, "has no whole snapshot in any of its zones; restore from a backup");
}

}  // namespace zenfs
