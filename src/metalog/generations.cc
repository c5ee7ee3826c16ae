#include "metalog/generations.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/metalog_payload.h"
#include "metalog/metazones.h"
#include "metalog/zone_reader.h"

namespace zenfs {
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
  // mkfs resets all metadata zones before it writes generation 1, and writes to the others after that.
  std::size_t first_generation = 0;
  for (const auto& [key, heads] : groups) first_generation += key.first == 1 ? heads.size() : 0;
  const auto untouched = std::ranges::count(fingerprint.zones, ZoneCondition::kEmpty, &ZoneInfo::condition);
  const bool mkfs_was_cut_off =
      first_generation + static_cast<std::size_t>(untouched) == fingerprint.zones.size();
  return Fail(
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
      const std::uint64_t first = reader.sequence() + 1;
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

}  // namespace zenfs
