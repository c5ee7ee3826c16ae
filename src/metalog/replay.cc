#include "metalog/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "device/presence.h"
#include "metalog/older_log.h"

namespace zenfs {
namespace {

// "commits 4 to 7", "commit 4"
std::string CommitsText(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("commit {}", first) : fmt::format("commits {} to {}", first, last);
}

// --- the fingerprint ---

bool SameZone(const ZoneInfo& a, const ZoneInfo& b) {
  // Changes between open, closed and full do not change the contents.
  return a.WrittenBytes() == b.WrittenBytes() && a.capacity == b.capacity &&
         (a.condition == ZoneCondition::kOffline) == (b.condition == ZoneCondition::kOffline);
}

// One command for each run of adjacent zones.
Result<std::vector<ZoneInfo>> ReportZones(ZonedDevice& device, const std::vector<ZoneId>& zones) {
  std::vector<ZoneInfo> all;
  for (std::size_t first = 0; first < zones.size();) {
    std::size_t last = first + 1;
    while (last < zones.size() && zones[last].value == zones[last - 1].value + 1) ++last;
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> run,
                           device.Report(zones[first], static_cast<std::uint32_t>(last - first)));
    all.insert(all.end(), run.begin(), run.end());
    first = last;
  }
  return all;
}

void ReadHeads(ZonedDevice& device, const Superblock& superblock, LogFingerprint& fingerprint) {
  const MetazoneLayout layout(device.geometry().block_size);
  AlignedBuffer block(layout.frames_at - layout.header_at);
  block.Resize(layout.frames_at - layout.header_at);
  for (std::size_t i = fingerprint.heads.size(); i < fingerprint.zones.size(); ++i) {
    const ZoneInfo& info = fingerprint.zones[i];
    std::optional<LogHeader>& head = fingerprint.heads.emplace_back();
    if (info.WrittenBytes() < layout.frames_at) continue;
    if (!device.Read(info.start + layout.header_at, block.Span()).ok()) continue;
    head = FindLogHeader(block.View(), superblock.seed, info.id, layout.block_size);
  }
}

// A log of the older ZenFS has no headers. The sequence of a zone's superblock takes the place of the generation.
void ReadOlderHeads(ZonedDevice& device, LogFingerprint& fingerprint) {
  for (const std::optional<std::uint32_t>& sequence : OlderSequences(device, fingerprint.zones))
    fingerprint.heads.push_back(sequence ? std::optional(LogHeader{.generation = *sequence}) : std::nullopt);
}

// The zones that the heads name and the superblock does not, with the highest generation that does. A damaged or hostile
// device may name any.
std::map<ZoneId, std::uint64_t> NamedZones(const Geometry& geometry, const Superblock& superblock,
                                           std::span<const std::optional<LogHeader>> heads) {
  std::map<ZoneId, std::uint64_t> added;
  if (!superblock.may_add_metadata_zones()) return added;
  for (const std::optional<LogHeader>& head : heads) {
    if (!head) continue;
    for (const ZoneId zone : head->added) added[zone] = std::max(added[zone], head->generation);
  }
  for (const ZoneId zone : superblock.metadata_zones) added.erase(zone);
  std::erase_if(added, [&](const auto& zone) { return zone.first.value >= geometry.main_zones(); });
  return added;
}

}  // namespace

Result<LogFingerprint> TakeLogFingerprint(ZonedDevice& device, const Superblock& superblock) {
  const PresenceMark mark = PresenceMark::Now(device);
  LogFingerprint fingerprint{.zones = {}, .heads = {}, .taken = SteadyNow()};
  ZENFS_ASSIGN_OR_RETURN(fingerprint.zones, ReportZones(device, superblock.metadata_zones));
  if (superblock.is_older()) {
    ReadOlderHeads(device, fingerprint);
  } else {
    ReadHeads(device, superblock, fingerprint);
  }
  fingerprint.named_by.assign(fingerprint.zones.size(), LogFingerprint::kBySuperblock);
  std::vector<ZoneId> ids;
  for (const auto& [zone, generation] : NamedZones(device.geometry(), superblock, fingerprint.heads)) {
    ids.push_back(zone);
    fingerprint.named_by.push_back(generation);
  }
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> added, ReportZones(device, ids));
  fingerprint.zones.insert(fingerprint.zones.end(), added.begin(), added.end());
  ReadHeads(device, superblock, fingerprint);
  ZENFS_RETURN_IF_ERROR(mark.Check(device));
  return fingerprint;
}

std::vector<ZoneId> LogFingerprint::zone_ids() const {
  std::vector<ZoneId> ids;
  for (const ZoneInfo& zone : zones) ids.push_back(zone.id);
  return ids;
}

std::vector<ZoneId> LogFingerprint::AddedBy(std::uint64_t generation, std::uint64_t salt) const {
  std::set<ZoneId> named;
  for (const std::optional<LogHeader>& head : heads) {
    if (head && head->generation == generation && head->salt == salt)
      named.insert(head->added.begin(), head->added.end());
  }
  std::vector<ZoneId> added;
  for (std::size_t i = 0; i < zones.size(); ++i) {
    if (named_by[i] != kBySuperblock && named.contains(zones[i].id)) added.push_back(zones[i].id);
  }
  return added;
}

bool SameLog(const LogFingerprint& a, const LogFingerprint& b) {
  return std::ranges::equal(a.zones, b.zones, SameZone) && a.heads == b.heads;
}

Result<LogCheck> CheckLog(ZonedDevice& device, const Superblock& superblock, const LogFingerprint& then) {
  // The caller's reads must happen before the report, even if both only access memory (an emulated device).
  __sync_synchronize();
  if (SteadyNow() - then.taken <= LogFingerprint::kReportSpan) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> zones, ReportZones(device, then.zone_ids()));
    const bool same = std::ranges::equal(then.zones, zones, SameZone);
    // The report may have been slow.
    if (!same || SteadyNow() - then.taken <= LogFingerprint::kReportSpan) {
      return LogCheck{.moved = !same, .confirmed = then.taken};
    }
  }
  ZENFS_ASSIGN_OR_RETURN(const LogFingerprint fingerprint, TakeLogFingerprint(device, superblock));
  return LogCheck{.moved = !SameLog(then, fingerprint), .confirmed = fingerprint.taken};
}

// --- replay for a mount ---

namespace {

// What a metadata zone holds that was written but has no readable log header, so that its generation is unknown.
//
// If a log switch was cut off during its first write, the zone holds nothing of value. But nothing is written after a
// header before the header is durable. So blocks after the header's place prove that the header was durable once.
enum class HeadlessZone {
  kNothing,       // everything after the header can be read and no newer commit is found
  kUnreadable,    // blocks after the header can't be read either and may have held commits
  kNewerCommits,  // a frame claims a commit after `sequence` in a generation above `generation`
};

// `generation`, `sequence`: the newest complete generation and its last commit. Frames cannot be verified here: their CRC
// is seeded with the salt, which only the header has.
HeadlessZone JudgeHeadlessZone(ZonedDevice& device, const ZoneInfo& info, std::uint64_t generation,
                               std::uint64_t sequence) {
  const std::uint32_t block = device.geometry().block_size;
  ZoneReader zone(device, info.id, info.WrittenBytes());
  for (std::uint64_t at = zone.SkipZeros(MetazoneLayout(block).frames_at); at < zone.end();
       at = zone.SkipZeros(at + block)) {
    const ParsedFrame frame =
        ParseFrame(zone.View(at, block).first(block), FrameSeed{}, block, zone.end() - at);
    if (frame.verdict == FrameVerdict::kNotAFrame || frame.header.kind != FrameKind::kCommit) continue;
    if (frame.header.file_offset > generation && frame.header.stable_sequence > sequence)
      return HeadlessZone::kNewerCommits;
  }
  return zone.met_unreadable() ? HeadlessZone::kUnreadable : HeadlessZone::kNothing;
}

// The reason why a metadata zone without a log header forbids a read-write mount; empty if it does not. Before a log switch
// begins, only a frame that claims a newer commit does.
std::string WhyInDoubt(HeadlessZone zone, bool switch_was_under_way) {
  if (zone == HeadlessZone::kNewerCommits)
    return "seems to hold a newer generation, but its log header can't be read";
  if (zone == HeadlessZone::kUnreadable && switch_was_under_way) return "can't be read";
  return {};
}

}  // namespace

Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock) {
  const PresenceMark mark = PresenceMark::Now(device);
  ZENFS_ASSIGN_OR_RETURN(const LogFingerprint fingerprint, TakeLogFingerprint(device, superblock));
  Generations generations(device, superblock);
  ZENFS_ASSIGN_OR_RETURN(const Generations::Found found, generations.Read(fingerprint));
  Replayed replayed = found.reader->Take();
  // A newer generation that was written to two zones at a time is not hidden by the loss of one zone.
  std::optional<std::uint32_t> announced = replayed.announced_copies;
  if (found.newer_incomplete)
    announced = std::min(announced.value_or(found.newer_copies), found.newer_copies);
  const bool switch_was_under_way = announced.has_value();
  std::uint32_t unread = 0;
  replayed.newer_traces = found.newer_incomplete;
  replayed.added_zones = fingerprint.AddedBy(replayed.generation, replayed.salt);
  for (std::size_t i = 0; i < fingerprint.zones.size(); ++i) {
    if (fingerprint.WasGivenBack(i, replayed.generation)) continue;
    const ZoneInfo& zone = fingerprint.zones[i];
    std::string why;
    bool newer_commits = false;
    if (fingerprint.heads[i]) {
      replayed.highest_generation = std::max(replayed.highest_generation, fingerprint.heads[i]->generation);
    } else if (zone.condition == ZoneCondition::kOffline) {
      if (switch_was_under_way) why = "is offline";
    } else if (zone.WrittenBytes() != 0) {
      replayed.newer_traces = true;
      const HeadlessZone judged = JudgeHeadlessZone(device, zone, replayed.generation, replayed.sequence);
      newer_commits = judged == HeadlessZone::kNewerCommits;
      why = WhyInDoubt(judged, switch_was_under_way);
    }
    if (why.empty()) continue;
    ++unread;
    if (!newer_commits && unread < announced.value_or(1)) continue;
    replayed.doubtful_zone = zone.id;
    replayed.doubt =
        fmt::format("{}: {}metadata zone {} {}: it may hold commits after {}; mount read-only", device.name(),
                    switch_was_under_way ? "a switch of the metadata log had begun and " : "", zone.id.value,
                    why, replayed.sequence);
  }
  ZENFS_RETURN_IF_ERROR(mark.Check(device));
  return replayed;
}

std::vector<ZoneId> MetadataZones(ZonedDevice& device, const Superblock& superblock) {
  const Result<LogFingerprint> fingerprint = TakeLogFingerprint(device, superblock);
  if (!fingerprint || fingerprint->zones.size() == superblock.metadata_zones.size())
    return superblock.metadata_zones;
  if (const Result<Replayed> replayed = Replay(device, superblock))
    return WithAdded(superblock, replayed->added_zones);
  std::uint64_t newest = 0;
  for (const std::optional<LogHeader>& head : fingerprint->heads)
    newest = std::max(newest, head ? head->generation : 0);
  std::vector<ZoneId> zones;
  for (std::size_t i = 0; i < fingerprint->zones.size(); ++i) {
    if (!fingerprint->WasGivenBack(i, newest)) zones.push_back(fingerprint->zones[i].id);
  }
  return zones;
}

std::vector<ZoneId> WithAdded(const Superblock& superblock, std::span<const ZoneId> added) {
  std::vector<ZoneId> zones = superblock.metadata_zones;
  zones.insert(zones.end(), added.begin(), added.end());
  return zones;
}

std::vector<ZoneId> NewestGenerationZones(ZonedDevice& device, const Superblock& superblock) {
  const Result<Replayed> replayed = Replay(device, superblock);
  return replayed ? replayed->chain : std::vector<ZoneId>();
}

// --- the newest complete generation ---

namespace {

std::pair<std::uint32_t, std::uint32_t> PlaceAndCopy(const MetazoneHead& head) {
  return {head.header.chain_index, head.header.copy};
}

}  // namespace

Result<Generations::Found> Generations::Read(const LogFingerprint& fingerprint) {
  std::map<Key, std::vector<MetazoneHead>> groups;
  std::vector<std::size_t> headless;
  for (std::size_t i = 0; i < fingerprint.zones.size(); ++i) {
    const std::optional<LogHeader>& head = fingerprint.heads[i];
    if (head && head->is_spare()) continue;
    if (head) {
      groups[{head->generation, head->salt}].push_back({.info = fingerprint.zones[i], .header = *head});
    } else if (fingerprint.zones[i].WrittenBytes() != 0) {
      headless.push_back(i);
    }
  }
  std::erase_if(readers_, [&](const auto& reader) { return !groups.contains(reader.first); });
  Found found;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const auto& [key, heads] = *group;
    std::ranges::sort(group->second, {}, PlaceAndCopy);
    ZENFS_RETURN_IF_ERROR(RefuseIfAmbiguous(heads));
    GenerationReader& reader =
        readers_.try_emplace(key, device_, superblock_, heads.front().header).first->second;
    ZENFS_ASSIGN_OR_RETURN(const bool complete, reader.Read(heads));
    if (!complete) {
      if (!reader.read_everything()) ZENFS_RETURN_IF_ERROR(RefuseIfProven(heads, reader));
      found.newer_incomplete = true;
      if (!heads.front().header.is_pair()) found.newer_copies = 1;
      continue;
    }
    for (auto newer = groups.rbegin(); newer != group; ++newer) {
      ZENFS_RETURN_IF_ERROR(RefuseIfCommitted(newer->second, readers_.at(newer->first), reader.replayed()));
    }
    ZENFS_RETURN_IF_ERROR(RefuseIfHeadlessIsNewer(fingerprint, headless, key.first));
    readers_.erase(readers_.begin(), readers_.find(key));
    found.reader = &reader;
    return found;
  }
  ZENFS_RETURN_IF_ERROR(RefuseIfHeadlessIsNewer(fingerprint, headless, 0));
  for (const auto& [key, heads] : groups)
    ZENFS_RETURN_IF_ERROR(RefuseIfCommitted(heads, readers_.at(key), Replayed{}));
  std::size_t first_generation = 0;
  for (const auto& [key, heads] : groups) first_generation += key.first == 1 ? heads.size() : 0;
  return Fail(NothingComplete(fingerprint, first_generation));
}

// mkfs resets all metadata zones before it writes generation 1, and writes to the others after that.
Error Generations::NothingComplete(const LogFingerprint& fingerprint,
                                   std::size_t zones_of_first_generation) const {
  const auto untouched = std::ranges::count(fingerprint.zones, ZoneCondition::kEmpty, &ZoneInfo::condition);
  const bool mkfs_was_cut_off =
      zones_of_first_generation + static_cast<std::size_t>(untouched) == fingerprint.zones.size();
  return Error(
      Code::kCorruption,
      fmt::format("{}: no metadata zone holds a complete generation of the metadata log; {}", device_.name(),
                  mkfs_was_cut_off ? "mkfs was cut off: run it again with --force"
                                   : "zenfs check --repair rebuilds what can be read; otherwise restore "
                                     "from a backup"));
}

Status Generations::RefuseIfAmbiguous(std::span<const MetazoneHead> heads) const {
  const auto twice = std::ranges::adjacent_find(heads, {}, PlaceAndCopy);
  if (twice == heads.end()) return {};
  return Fail(
      Code::kCorruption,
      fmt::format("{}: metadata zones {} and {} both claim to be zone {} of generation {} of the metadata "
                  "log; ZenFS did not write this: restore from a backup",
                  device_.name(), twice->info.id.value, std::next(twice)->info.id.value,
                  twice->header.chain_index, twice->header.generation));
}

Status Generations::RefuseIfProven(std::span<const MetazoneHead> heads, const GenerationReader& reader) {
  for (const MetazoneHead& head : heads) {
    const auto found = SearchSwitchComplete(head.info, head.header.generation);
    if (found && found->generation == head.header.generation && found->complete.salt == head.header.salt) {
      const std::uint64_t first = reader.replayed().sequence + 1;
      const std::uint64_t last = found->complete.sequence;  // less than `first`: only the snapshot is damaged
      return Fail(
          Code::kCorruption,
          fmt::format("{}: generation {} of the metadata log was complete up to commit {}, but {}: {} may be "
                      "missing",
                      device_.name(), found->generation, last, reader.where_it_ended(),
                      last < first ? fmt::format("its snapshot, and commits from {} on,", first)
                                   : CommitsText(first, last) + " and all later ones"));
    }
  }
  return {};
}

Status Generations::RefuseIfCommitted(std::span<const MetazoneHead> heads, const GenerationReader& reader,
                                      const Replayed& older) {
  if (reader.read_everything()) return {};  // all blocks are valid frames, so no SwitchComplete was lost
  for (const MetazoneHead& head : heads) {
    ZoneReader zone(device_, head.info.id, head.info.WrittenBytes());
    const FrameSeed seed =
        FrameSeed::Of(superblock_.seed, head.info.id, head.header.generation, head.header.salt);
    for (std::uint64_t at = zone.SkipZeros(layout_.frames_at); at < zone.end();) {
      const ParsedFrame frame = zone.FrameAt(at, seed);
      if (frame.valid() && frame.header.kind == FrameKind::kCommit &&
          frame.header.stable_sequence > older.sequence) {
        return Fail(
            Code::kCorruption,
            fmt::format("{}: generation {} of the metadata log holds commit {} (zone {}, byte {}), so it was "
                        "complete, but {}: commits from {} on may be missing",
                        device_.name(), head.header.generation, frame.header.stable_sequence,
                        head.info.id.value, at, reader.where_it_ended(), older.sequence + 1));
      }
      at = frame.valid() ? at + frame.header.BytesOnDevice(layout_.block_size)
                         : zone.SkipZeros(at + layout_.block_size);
    }
  }
  return {};
}

Status Generations::RefuseIfHeadlessIsNewer(const LogFingerprint& fingerprint,
                                            std::span<const std::size_t> headless, std::uint64_t generation) {
  for (const std::size_t i : headless) {
    if (fingerprint.WasGivenBack(i, generation)) continue;
    const ZoneInfo& info = fingerprint.zones[i];
    const auto found = SearchSwitchComplete(info, generation + 1);
    if (!found) continue;
    return Fail(
        Code::kCorruption,
        fmt::format("{}: metadata zone {} holds generation {} of the metadata log, complete up to commit {}, "
                    "but its header cannot be read: commits up to {} and all later ones may be missing",
                    device_.name(), info.id.value, found->generation, found->complete.sequence,
                    found->complete.sequence));
  }
  return {};
}

std::optional<FoundSwitchComplete> Generations::SearchSwitchComplete(const ZoneInfo& info,
                                                                     std::uint64_t min_generation) {
  ZoneReader reader(device_, info.id, info.WrittenBytes());
  for (std::uint64_t at = reader.SkipZeros(layout_.header_at); at < reader.end();
       at = reader.SkipZeros(at + layout_.block_size)) {
    const auto found = FindSwitchComplete(reader.View(at, layout_.block_size), superblock_.seed, info.id,
                                          layout_.block_size);
    if (found && found->generation >= min_generation) return found;
  }
  return std::nullopt;
}

// --- the frames of one generation ---

GenerationReader::GenerationReader(ZonedDevice& device, const Superblock& superblock, const LogHeader& first)
    : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {
  out_.generation = first.generation;
  out_.salt = first.salt;
  out_.sequence = first.base_sequence;
}

Result<bool> GenerationReader::Read(const std::vector<MetazoneHead>& chain) {
  ZENFS_ASSERT(!chain.empty());
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

Status GenerationReader::Carry(const ParsedFrame& frame) {
  if (frame.header.kind != FrameKind::kCommit && frame.header.sequence != out_.sequence) {
    return Fail(Code::kCorruption, fmt::format("it claims to follow commit {}, but follows commit {}",
                                               frame.header.sequence, out_.sequence));
  }
  switch (frame.header.kind) {
    case FrameKind::kSnapshot:
      return DecodeList(frame.payload, [&](EditListReader& list) { return ReplayEdits(list); });
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

Status GenerationReader::ReplayEdits(EditListReader& list) {
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
    if (Status done = ReplayEdits(list); !done.ok())
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

void GenerationReader::NoteTail(std::span<const Copy> copies) {
  out_.tail.clear();
  for (const Copy& copy : copies) {
    const bool writable = IsActive(copy.info.condition) || out_.position == copy.info.capacity;
    if (out_.position == copy.reader.end() && writable && !out_.lost_copies.contains(copy.info.id))
      out_.tail.push_back(copy.info.id);
  }
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

}  // namespace zenfs
