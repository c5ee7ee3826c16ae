// Rebuilds the state of a volume from the readable parts of its metadata log, for volumes that cannot be mounted. Reads
// only.
//
// All generations describe one history: commits have one numbering, and commits made during a log switch are in both the
// old and the new generation. So the snapshot may come from one generation and later commits from others. The best base
// is the complete snapshot after which the most commits follow without a gap. Commit 0 is an empty volume and needs no
// snapshot. If there is no such base, the readable part of a snapshot is used.
//
// Commits after a gap are applied as far as they fit (model/state_draft.h): their changes to files that they create, write
// or delete are valid without the lost commits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/sentences.h"
#include "metalog/metadata_scan.h"
#include "model/state_draft.h"

namespace zenfs {

// The numbers that ranges cover, some of which may overlap. What a range adds costs the ranges that it adds to, which then
// become one: any number of wide ranges over many narrow ones takes n log n.
class CoveredRanges {
 public:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };

  // Covers [first, last] and returns the parts of it that were not covered, ascending. Nothing if last < first.
  std::vector<Range> Add(std::uint64_t first, std::uint64_t last) {
    std::vector<Range> added;
    if (last < first) return added;
    Range all{first, last};
    std::uint64_t next = first;
    bool ends_uncovered = true;
    auto at = ranges_.upper_bound(first);
    if (at != ranges_.begin() && std::prev(at)->second >= first) --at;
    while (at != ranges_.end() && at->first <= last) {
      if (next < at->first) added.push_back({next, at->first - 1});
      ends_uncovered = at->second < last;
      next = at->second + 1;
      all = {std::min(all.first, at->first), std::max(all.last, at->second)};
      at = ranges_.erase(at);
    }
    if (ends_uncovered) added.push_back({next, last});
    ranges_.emplace(all.first, all.last);
    return added;
  }

  // Disjoint and not empty.
  std::size_t size() const { return ranges_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // the last number of each, by the first
};

struct CommitRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct Reconstructed {
  StateDraft draft;
  std::uint64_t base_generation = 0;  // generation of the snapshot; 0: begins with an empty volume
  std::uint64_t base_sequence = 0;    // the snapshot is as of this commit
  bool base_is_whole = true;          // no frame of the snapshot is missing
  std::uint64_t sequence = 0;         // all commits up to this one were applied
  std::vector<CommitRange> lost;      // commits that existed and are not readable
  std::uint64_t applied_behind = 0;   // readable commits after the first lost one
  Sentences misfits;                  // edits that could not be applied
  bool end_is_unsure = false;         // commits after the last readable one may have existed
  std::uint64_t highest_sequence = 0;
  std::vector<ZoneId> sources;  // zones whose frames were used

  // Returns true if commits are missing or may be missing.
  bool lossy() const { return !base_is_whole || !lost.empty() || end_is_unsure; }
};

// Errors: kCorruption if neither a snapshot nor a commit can be read; kNotSupported for edits of a newer program.
[[nodiscard]] Result<Reconstructed> Reconstruct(ZonedDevice& device, const Superblock& superblock,
                                                const MetadataScan& scan);

// Describes the base and the losses in one or two sentences.
[[nodiscard]] std::string ReconstructionText(const Reconstructed& found);

}  // namespace zenfs
