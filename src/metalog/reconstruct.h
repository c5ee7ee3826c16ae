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

#include <string>
#include <vector>

#include "base/sentences.h"
#include "metalog/metadata_scan.h"
#include "model/state_draft.h"

namespace zenfs {

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
