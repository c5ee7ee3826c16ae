// Upper bound of the size of a snapshot of the state, in bytes, updated with each commit. A commit that would make the
// snapshot too large for the metadata zones is refused before it is written. Each rename that replaces an entry may raise
// the bound by the length of a name; the next log switch measures it again.
//
// Threads: none; the caller locks.
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

  // `edits`: just applied, with these `effects`. `after`: the state that resulted.
  void Apply(std::span<const Edit> edits, const Effects& effects, const State& after);
  std::uint64_t bytes() const { return bytes_; }

 private:
  void SetFile(FileId id, std::uint64_t bytes);

  std::uint64_t bytes_ = 0;
  std::unordered_map<FileId, std::uint64_t> files_;
};

// A commit's effect on the size of the snapshot: the worst of its edits.
enum class Growth {
  kShrinks,  // always allowed, because deleting makes room
  kNeutral,  // may use the last sixteenth: renames, seals, log zones
  kGrows,
};
[[nodiscard]] Growth GrowthOf(std::span<const Edit> edits);

// Room in a set of metadata zones, in bytes.
struct MetalogSpace {
  std::uint64_t zone_bytes = 0;  // for frames, in the smallest zone
  std::uint32_t zones = 0;       // usable
  std::uint32_t block_size = 0;
  std::uint32_t copies = 1;  // zones that each frame is written to

  // Zones that make the largest snapshot longer by one place: an old and a new one for each copy.
  std::size_t ZonesOfPlace() const { return std::size_t{2} * copies; }
  // A log switch begins when less than this is left in a zone; the rest takes the commits during the switch.
  std::uint64_t SwitchReserve() const;
  // Room for commits that must be left after a SwitchComplete.
  std::uint64_t MinRoom() const;
  // Largest snapshot for which the old and the new generation fit at the same time.
  std::uint64_t SnapshotLimit() const;
  std::uint64_t SnapshotLimit(Growth growth) const;
};

}  // namespace zenfs
