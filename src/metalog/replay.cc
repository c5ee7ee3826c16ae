#include "metalog/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "format/frame.h"
#include "format/metalog_payload.h"
#include "metalog/generation_reader.h"
#include "metalog/metazones.h"

namespace zenfs {
namespace {

using GenerationKey = std::pair<std::uint64_t, std::uint64_t>;  // generation, salt

class Replayer {
 public:
  Replayer(ZonedDevice& device, const Superblock& superblock)
      : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {}

  Result<Replayed> Run() {
    ZENFS_RETURN_IF_ERROR(ReadHeads());
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      std::ranges::sort(group->second, {}, [](const MetazoneHead& head) { return head.header.chain_index; });
      GenerationReader reader(device_, superblock_, group->second);
      ZENFS_ASSIGN_OR_RETURN(const bool complete, reader.Read());
      if (!complete) {
        ZENFS_RETURN_IF_ERROR(RefuseIfProven(group->second, reader));
        newer_incomplete_ = true;
        continue;
      }
      ZENFS_RETURN_IF_ERROR(RefuseIfHeadlessIsNewer(group->first.first));
      return Finish(reader.Take());
    }
    ZENFS_RETURN_IF_ERROR(RefuseIfHeadlessIsNewer(0));
    return Fail(Code::kCorruption,
                fmt::format("{}: no metadata zone holds a complete generation of the metadata log; if mkfs "
                            "was cut off run it again with --force, else restore from a backup",
                            device_.name()));
  }

 private:
  Status ReadHeads() {
    for (const ZoneId zone : superblock_.metadata_zones) {
      ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, device_.Report(zone, 1));
      const ZoneInfo& info = report.front();
      if (info.condition == ZoneCondition::kOffline) offline_.push_back(zone);
      const std::uint64_t written = info.WrittenBytes();
      if (written == 0) continue;
      ZoneReader reader(device_, zone, written);
      const ByteView bytes = reader.View(layout_.header_at, layout_.frames_at - layout_.header_at);
      const auto header = FindLogHeader(bytes, superblock_.seed, zone, layout_.block_size);
      if (!header) {
        headless_.push_back(info);
        continue;
      }
      highest_generation_ = std::max(highest_generation_, header->generation);
      groups_[{header->generation, header->salt}].push_back({.info = info, .header = *header});
    }
    return {};
  }

  // A generation that ends before its RollComplete never happened, unless a RollComplete stands further on:
  // then it was complete once, and what is missing was lost.
  Status RefuseIfProven(const std::vector<MetazoneHead>& heads, const GenerationReader& reader) {
    for (const MetazoneHead& head : heads) {
      const auto found = SearchRollComplete(head.info, head.header.generation);
      if (found && found->generation == head.header.generation) {
        return Fail(
            Code::kCorruption,
            fmt::format(
                "{}: generation {} of the metadata log was complete up to commit {}, but {}: commits {} "
                "to {} and all later ones may be missing",
                device_.name(), found->generation, found->complete.sequence, reader.where_it_ended(),
                reader.sequence() + 1, found->complete.sequence));
      }
    }
    return {};
  }

  // A zone whose log header cannot be read may be a roll that was torn at its start, or a damaged newer
  // generation.
  Status RefuseIfHeadlessIsNewer(std::uint64_t generation) {
    for (const ZoneInfo& info : headless_) {
      const auto found = SearchRollComplete(info, generation + 1);
      if (!found) continue;
      return Fail(
          Code::kCorruption,
          fmt::format(
              "{}: metadata zone {} holds generation {} of the metadata log, complete up to commit {}, "
              "but its header cannot be read: commits up to {} and all later ones may be missing",
              device_.name(), info.id.value, found->generation, found->complete.sequence,
              found->complete.sequence));
    }
    return {};
  }

  // A RollComplete of at least `min_generation` anywhere in the zone.
  std::optional<FoundRollComplete> SearchRollComplete(const ZoneInfo& info, std::uint64_t min_generation) {
    ZoneReader reader(device_, info.id, info.WrittenBytes());
    for (std::uint64_t at = layout_.header_at; at < reader.end(); at += layout_.block_size) {
      const auto found = FindRollComplete(reader.View(at, layout_.block_size), superblock_.seed, info.id,
                                          layout_.block_size);
      if (found && found->generation >= min_generation) return found;
    }
    return std::nullopt;
  }

  Result<Replayed> Finish(Replayed replayed) {
    replayed.highest_generation = highest_generation_;
    replayed.newer_traces = newer_incomplete_ || !headless_.empty();
    const bool roll_was_under_way = replayed.doubt.has_value() || newer_incomplete_;
    replayed.doubt.reset();
    if (!offline_.empty() && roll_was_under_way) {
      replayed.doubt = fmt::format(
          "{}: a roll of the metadata log had begun and metadata zone {} is offline: newer commits than {} "
          "may stand "
          "in it; mount read-only",
          device_.name(), offline_.front().value, replayed.sequence);
    }
    return replayed;
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  std::map<GenerationKey, std::vector<MetazoneHead>> groups_;
  std::vector<ZoneInfo> headless_;
  std::vector<ZoneId> offline_;
  std::uint64_t highest_generation_ = 0;
  bool newer_incomplete_ = false;
};

}  // namespace

Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock) {
  return Replayer(device, superblock).Run();
}

}  // namespace zenfs
