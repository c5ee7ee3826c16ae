#include "metalog/reconstruct.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <span>
#include <utility>

#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "metalog/metazones.h"
#include "metalog/zone_reader.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

class Reconstruction {
 public:
  Reconstruction(ZonedDevice& device, const Superblock& superblock, const MetadataScan& scan)
      : device_(device), superblock_(superblock), scan_(scan) {}

  Result<Reconstructed> Run() {
    IndexCommits();
    out_.highest_sequence = scan_.HighestSequence();
    const std::optional<Base> base = ChooseBase();
    if (!base) {
      return Fail(
          Code::kCorruption,
          fmt::format("{}: nothing of the metadata log can be read; restore from a backup", device_.name()));
    }
    ZENFS_RETURN_IF_ERROR(LocateParts());
    ZENFS_RETURN_IF_ERROR(ReadBase(*base));
    ZENFS_RETURN_IF_ERROR(ApplyCommits());
    out_.end_is_unsure = EndIsUnsure();
    std::ranges::sort(used_);
    const auto twice = std::ranges::unique(used_);
    used_.erase(twice.begin(), twice.end());
    out_.sources = std::move(used_);
    return std::move(out_);
  }

 private:
  struct Base {
    const ScannedGeneration* generation = nullptr;  // null: the empty volume
    std::uint64_t sequence = 0;
    std::uint64_t reaches = 0;  // last commit without a gap
    bool whole = true;
  };
  struct Place {
    const ScannedGeneration* generation = nullptr;
    const MetadataFrame* frame = nullptr;
    std::uint64_t last = 0;  // of these commits
    // If the frame has several such ranges, because newer generations have commits between them: their bytes in its payload.
    bool is_part = false;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  // Finds the frame of each commit; the newest generation that has the commit wins. Commits of a generation after the next
  // one's SwitchComplete do not count: their write failed.
  void IndexCommits() {
    std::uint64_t cutoff = kNone;
    for (auto g = scan_.generations.rbegin(); g != scan_.generations.rend(); ++g) {
      for (const MetadataFrame& frame : g->frames) {
        if (frame.kind != FrameKind::kCommit || frame.last_sequence > cutoff) continue;
        IndexUnknown(frame.first_sequence, {&*g, &frame, frame.last_sequence});
      }
      if (g->complete_sequence) cutoff = std::min(cutoff, *g->complete_sequence);
    }
  }

  // Those of [first, place.last] that no newer generation has. Ranges, not commits: a frame may claim millions.
  void IndexUnknown(std::uint64_t first, const Place& place) {
    for (const auto& [from, to] : covered_.Add(first, place.last)) {
      commits_.emplace(from, place).first->second.last = to;
    }
  }

  // Decodes each frame that has several ranges once, so that reading them takes the time of their bytes.
  Status LocateParts() {
    std::map<const MetadataFrame*, std::vector<std::pair<const std::uint64_t, Place>*>> ranges;
    for (auto& range : commits_) ranges[range.second.frame].push_back(&range);
    for (const auto& [frame, parts] : ranges) {
      if (parts.size() == 1) continue;
      ZENFS_RETURN_IF_ERROR(ReadScanned(
          device_, superblock_, *parts.front()->second.generation, *frame,
          [&frame, &parts](ByteView payload) { return LocateIn(payload, frame->first_sequence, parts); }));
    }
    return {};
  }

  // `sequence`: of the first commit in the payload. If the frame has fewer commits than it claims, parts are empty.
  static Status LocateIn(ByteView payload, std::uint64_t sequence,
                         std::span<std::pair<const std::uint64_t, Place>* const> parts) {
    for (auto* part : parts) part->second.is_part = true;
    Decoder count(payload);
    count.Varint();
    std::uint64_t at = payload.size() - count.remaining();
    auto next = parts.begin();
    return DecodeCommit(payload, [&](EditListReader& list) -> Status {
      ZENFS_RETURN_IF_ERROR(SkipList(list));
      const std::uint64_t begin = std::exchange(at, payload.size() - list.remaining());
      if (next != parts.end() && sequence > (*next)->second.last) ++next;
      if (next != parts.end() && sequence >= (*next)->first) {
        if (sequence == (*next)->first) (*next)->second.begin = begin;
        (*next)->second.end = at;
      }
      ++sequence;
      return {};
    });
  }

  static Status SkipList(EditListReader& list) {
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(const Edit* edit, list.Next());
      if (edit == nullptr) return {};
    }
  }

  using Commits = std::map<std::uint64_t, Place>;
  // The first range that has a commit behind `sequence`.
  Commits::const_iterator Behind(std::uint64_t sequence) const {
    const auto next = commits_.upper_bound(sequence);
    if (next == commits_.begin()) return next;
    const auto before = std::prev(next);
    return before->second.last > sequence ? before : next;
  }

  std::uint64_t Reach(std::uint64_t sequence) const {
    for (auto it = Behind(sequence); it != commits_.end() && it->first <= sequence + 1; ++it)
      sequence = it->second.last;
    return sequence;
  }

  // The snapshot of a generation, if any of its frames is valid. `whole` is set if none of its frames is missing.
  std::optional<Base> BaseOf(const ScannedGeneration& generation) const {
    const std::uint64_t frames_at = MetazoneLayout(device_.geometry().block_size).frames_at;
    std::set<std::uint64_t> there{0};  // ordinals of the valid frames and of the zones' headers
    Base base{.generation = &generation, .whole = false};
    std::optional<std::uint64_t> end;  // ordinal of the first frame after the snapshot
    bool any = false;
    for (const MetadataFrame& frame : generation.frames) {
      there.insert(frame.ordinal);
      if (frame.at == frames_at && frame.ordinal != 0) there.insert(frame.ordinal - 1);
      if (frame.kind == FrameKind::kSnapshot) {
        base.sequence = frame.first_sequence;
        any = true;
      } else if (!end) {
        end = frame.ordinal;
      }
    }
    if (!any) return std::nullopt;
    if (end) {
      const auto count = std::ranges::count_if(there, [&](std::uint64_t ordinal) { return ordinal < *end; });
      base.whole = static_cast<std::uint64_t>(count) == *end;
    }
    base.reaches = Reach(base.sequence);
    return base;
  }

  std::optional<Base> ChooseBase() const {
    std::optional<Base> best;
    if (Reach(0) != 0) best = Base{.sequence = 0, .reaches = Reach(0)};
    std::optional<Base> partial;
    for (const ScannedGeneration& generation : scan_.generations) {
      const std::optional<Base> base = BaseOf(generation);
      if (!base) continue;
      if (!base->whole) {
        partial = base;
      } else if (!best || base->reaches >= best->reaches) {
        best = base;
      }
    }
    if (!best && !partial && !commits_.empty()) {  // commits alone
      const std::uint64_t before = commits_.begin()->first - 1;
      partial = Base{.sequence = before, .reaches = Reach(before), .whole = false};
    }
    return best ? best : partial;
  }

  Status ReadBase(const Base& base) {
    out_.base_sequence = out_.sequence = base.sequence;
    out_.base_is_whole = base.whole;
    if (base.generation == nullptr) return {};
    out_.base_generation = base.generation->generation;
    for (const MetadataFrame& frame : base.generation->frames) {
      if (frame.kind != FrameKind::kSnapshot) continue;
      used_.push_back(frame.zone);
      ZENFS_RETURN_IF_ERROR(ReadScanned(device_, superblock_, *base.generation, frame, [&](ByteView payload) {
        return DecodeList(payload, [&](EditListReader& list) { return ReadList(list, true); });
      }));
    }
    return {};
  }

  Status ApplyCommits() {
    const std::uint64_t reaches = Reach(out_.sequence);
    std::uint64_t last = out_.sequence;
    for (auto it = Behind(last); it != commits_.end(); ++it) {
      const auto& [begin, place] = *it;
      const std::uint64_t first = std::max(begin, last + 1);
      if (first != last + 1) out_.lost.push_back({last + 1, first - 1});
      last = place.last;
      out_.applied_behind += last - std::min(last, std::max(first - 1, reaches));
      used_.push_back(place.frame->zone);
      ZENFS_RETURN_IF_ERROR(place.is_part ? ApplyPart(begin, place, first) : ApplyFrame(place, first));
    }
    if (last < out_.highest_sequence) out_.lost.push_back({last + 1, out_.highest_sequence});
    out_.sequence = reaches;
    return {};
  }

  // Of the commits in the frame those of [first, place.last]. If the frame's count is wrong, it has fewer; no writer makes
  // such a frame.
  Status ApplyFrame(const Place& place, std::uint64_t first) {
    return ReadScanned(device_, superblock_, *place.generation, *place.frame, [&](ByteView payload) {
      std::uint64_t sequence = place.frame->first_sequence;
      return DecodeCommit(payload, [&](EditListReader& list) {
        const bool wanted = first <= sequence && sequence <= place.last;
        ++sequence;
        return ReadList(list, wanted);
      });
    });
  }

  // The same for a part of the frame, whose first commit is `sequence`.
  Status ApplyPart(std::uint64_t sequence, const Place& part, std::uint64_t first) {
    const std::uint64_t at = part.frame->payload_at + part.begin;
    const std::uint64_t from = RoundDown(at, std::uint64_t{device_.geometry().block_size});
    ZoneReader reader(device_, part.frame->zone, part.frame->at + part.frame->bytes);
    const std::uint64_t length = part.end - part.begin;
    const ByteView bytes = reader.View(from, at - from + length);
    if (bytes.size() < at - from + length || reader.met_unreadable()) {  // an unreadable block is zeros here
      return Fail(Code::kIo, fmt::format("{}: metadata zone {}, byte {}: cannot be read any more",
                                         device_.name(), part.frame->zone.value, at));
    }
    for (Decoder decoder(bytes.subspan(at - from, length)); !decoder.AtEnd(); ++sequence) {
      EditListReader list(decoder);
      ZENFS_RETURN_IF_ERROR(ReadList(list, sequence >= first));
    }
    return {};
  }

  Status ReadList(EditListReader& list, bool wanted) {
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(const Edit* edit, list.Next());
      if (edit == nullptr) return {};
      if (wanted) Note(*edit);
    }
  }

  void Note(const Edit& edit) {
    if (const auto* allocated = std::get_if<AllocateLogZones>(&edit)) {
      const auto there = [&](const LogZone& zone) { return zone.zone.value < superblock_.zone_count; };
      if (!std::ranges::all_of(allocated->zones, there)) {
        return out_.misfits.Add("log zones that the device does not have");
      }
    }
    if (std::string misfit = out_.draft.Apply(edit); !misfit.empty()) out_.misfits.Add(std::move(misfit));
  }

  // Returns true if commits after the last readable one may have existed.
  bool EndIsUnsure() const {
    const std::uint64_t newest = scan_.HighestGeneration();
    return std::ranges::any_of(scan_.flaws, [&](const MetadataFlaw& flaw) {
      if (flaw.whole_in) return false;
      switch (flaw.kind) {
        case MetadataFlaw::Kind::kSuperblock: return false;
        case MetadataFlaw::Kind::kOffline: return true;
        case MetadataFlaw::Kind::kLogHeader: return flaw.generation == 0;
        case MetadataFlaw::Kind::kFrames: return false;  // its commits are counted as lost
        case MetadataFlaw::Kind::kTail: return flaw.generation == 0 || flaw.generation == newest;
      }
      return true;
    });
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetadataScan& scan_;
  CoveredRanges covered_;
  Commits commits_;  // by the first of each range; the ranges do not overlap
  std::vector<ZoneId> used_;
  Reconstructed out_;
};

}  // namespace

Result<Reconstructed> Reconstruct(ZonedDevice& device, const Superblock& superblock,
                                  const MetadataScan& scan) {
  return Reconstruction(device, superblock, scan).Run();
}

std::string ReconstructionText(const Reconstructed& found) {
  std::string text =
      found.base_generation == 0
          ? fmt::format("the metadata log can be rebuilt from commit {} on", found.base_sequence + 1)
          : fmt::format(
                "the metadata log can be rebuilt from {}the snapshot of generation {}, as of commit {},",
                found.base_is_whole ? "" : "the readable part of ", found.base_generation,
                found.base_sequence);
  text += fmt::format(" up to commit {}", found.sequence);
  if (!found.base_is_whole) text += "; names and files in the rest of the snapshot are lost";
  for (const CommitRange& range : found.lost) {
    text += range.first == range.last ? fmt::format("; commit {} is lost", range.first)
                                      : fmt::format("; commits {} to {} are lost", range.first, range.last);
  }
  if (found.applied_behind != 0) {
    text += fmt::format("; {} later commits can be read and are applied as far as they fit",
                        found.applied_behind);
  }
  if (found.end_is_unsure) {
    text += "; it is unknown whether later commits existed";
  } else if (found.base_is_whole && found.lost.empty()) {
    text += "; no commit is lost";
  }
  return text;
}

}  // namespace zenfs
