// How many bytes a snapshot of the state would take, kept up to date as edits are applied, so that a commit
// that would no longer fit the metadata zones is refused before it is written. An upper bound: it may drift
// upwards by the length of a name with each rename that replaces something, until it is measured anew at the
// next log switch.
//
// Threads: none of its own.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "model/state.h"

namespace zenfs {

class Footprint {
 public:
  Footprint() = default;
  explicit Footprint(const State& state);

  // `edits` were applied, had `effects`, and led to `after`.
  void Apply(std::span<const Edit> edits, const Effects& effects, const State& after);
  std::uint64_t bytes() const { return bytes_; }

 private:
  void SetFile(FileId id, std::uint64_t bytes);

  std::uint64_t bytes_ = 0;
  std::unordered_map<FileId, std::uint64_t> files_;
};

// What a commit does to the snapshot's size, by the worst of its edits.
enum class Growth {
  kShrinks,  // always allowed: deleting makes room
  kNeutral,  // allowed into the last sixteenth: renames, seals, log zones
  kGrows,
};
[[nodiscard]] Growth GrowthOf(std::span<const Edit> edits);

// The room that a set of metadata zones offers, in bytes.
struct MetalogSpace {
  std::uint64_t zone_bytes = 0;  // for frames, in the smallest zone
  std::uint32_t zones = 0;       // usable
  std::uint32_t block_size = 0;

  // Room left in a zone at which a log switch begins, so that commits can go on while it runs.
  std::uint64_t SwitchReserve() const;
  // Room for commits that must be left behind a SwitchComplete.
  std::uint64_t MinRoom() const;
  // Largest snapshot of which two generations, the old and the new, fit side by side.
  std::uint64_t SnapshotLimit() const;
  std::uint64_t SnapshotLimit(Growth growth) const;
};

}  // namespace zenfs
