// The state of a volume from whatever can still be read of its metadata log, when a mount refuses. Reads only.
//
// All generations tell one history: commits are numbered through, and those that go on in the old generation while a
// new one is written stand in both. So a snapshot may come from one generation and the commits behind it from
// others. The best base is the complete snapshot from which the most commits can be applied without a gap; commit 0 is
// an empty volume, which needs no snapshot. A volume without a base begins with what is readable of a snapshot.
//
// Commits behind a gap are applied as far as they fit (model/state_draft.h): what they say of files they create,
// write and delete holds whatever the lost ones said.
#pragma once

#include <string>
#include <vector>

#include "metalog/metadata_scan.h"
#include "model/state_draft.h"

namespace zenfs {

struct CommitRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct Reconstructed {
  StateDraft draft;
  std::uint64_t base_generation = 0;  // whose snapshot it begins with; 0: the empty volume that mkfs made
  std::uint64_t base_sequence = 0;    // the snapshot is as of this commit
  bool base_is_whole = true;          // no frame of the snapshot is missing
  std::uint64_t sequence = 0;         // up to here every commit was applied
  std::vector<CommitRange> lost;      // known to have been, and not readable
  std::uint64_t applied_behind = 0;   // commits behind the first lost one
  std::vector<std::string> misfits;   // what these said and could not be carried out
  bool end_is_unsure = false;         // the log may have had commits behind the last one that can be read
  std::uint64_t highest_sequence = 0;
  std::vector<ZoneId> sources;  // zones that hold what was used

  // Commits are missing, or may be.
  bool lossy() const { return !base_is_whole || !lost.empty() || end_is_unsure; }
};

// Errors: kCorruption when nothing of the log is left to begin with; kNotSupported for edits of a newer program.
[[nodiscard]] Result<Reconstructed> Reconstruct(ZonedDevice& device, const Superblock& superblock,
                                                const MetadataScan& scan);

// What it begins with and what is lost, one or two sentences.
[[nodiscard]] std::string ReconstructionText(const Reconstructed& found);

}  // namespace zenfs
