// What a snapshot of the metadata log will hold, and whether the metadata zones have room for it.
//
//   MetalogSpace   the largest snapshot that a set of metadata zones can take
//   Footprint      an upper bound of the size of a snapshot of a state
//   Replica        the state as of the last commit, with its footprint
//
// MetalogSpace and Footprint are pure; tests and repair use them without a log.
//
// Threads: none; the caller locks.
// Units: bytes of a snapshot.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/status.h"
#include "model/state.h"

namespace zenfs {

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
  bool may_grow = false;     // the log may have ZonesOfPlace more zones

  // Zones that make the largest snapshot longer by one place: an old and a new one for each copy.
  std::size_t ZonesOfPlace() const { return std::size_t{2} * copies; }
  // A log switch begins when less than this is left in a zone; the rest takes the commits during the switch.
  std::uint64_t SwitchReserve() const;
  // Room for commits that must be left after a SwitchComplete.
  std::uint64_t MinRoom() const;
  // Largest snapshot for which the old and the new generation fit at the same time.
  std::uint64_t SnapshotLimit() const;
  std::uint64_t SnapshotLimit(Growth growth) const;
  // Zones that the log needs before the next commits, if a snapshot takes `used` bytes: ZonesOfPlace or 0. `wanted`: bytes of a
  // commit that found no room, or 0.
  std::uint32_t ZonesNeeded(std::uint64_t used, std::uint64_t wanted) const;
};

// Updated with each commit. A commit that would make the snapshot too large for the metadata zones is refused before it is
// written. Each rename that replaces an entry may raise the bound by the length of a name; the next log switch measures it
// again.
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

// The state as of the last commit, held by the metadata log for its snapshots, and the room that a snapshot of it needs.
//
//   Reserve   a Commit call will add at most so many bytes to a snapshot
//   Add       its commit is durable: the state takes the edits, and the exact size replaces the reservation
//   Release   its commit failed
//
// A log switch freezes the state and reads it without the lock. Meanwhile commits collect in pending().
//
// Invariants
//   the state does not change while it is frozen; nothing is pending otherwise
//   each reservation ends once, in Release or when the state takes the edits
//   state + pending() = all commits, in log order
//
// Threads: the lock of the log guards it (metalog.h). A log switch reads the frozen state without the lock.
// Errors: only of Add and Thaw, if edits contradict the state. That is a bug; the state must not be used afterwards.
class Replica {
 public:
  using Edits = std::shared_ptr<const std::vector<Edit>>;
  // A commit that the frozen state does not have yet.
  struct Pending {
    Edits edits;
    std::string encoded;
    std::uint64_t reserved = 0;
  };

  explicit Replica(State state) : state_(std::move(state)), footprint_(state_) {}

  // Upper bound of the size of a snapshot after all Commit calls that have a reservation.
  std::uint64_t used_bytes() const { return footprint_.bytes() + reserved_; }
  void Reserve(std::uint64_t bytes) { reserved_ += bytes; }
  void Release(std::uint64_t bytes) {
    ZENFS_ASSERT(reserved_ >= bytes);
    reserved_ -= bytes;
  }

  // The commit that made the reservation `reserved` is durable. Call this in log order. `encoded` is moved from only if
  // the state is frozen.
  [[nodiscard]] Status Add(const Edits& edits, std::string& encoded, std::uint64_t reserved);

  // Returns the state, which does not change until Thaw.
  const State& Freeze();
  // The commits since Freeze. Elements are only added, until Thaw.
  const std::deque<Pending>& pending() const { return pending_; }
  // The state takes the pending commits.
  [[nodiscard]] Status Thaw();
  // As above. `measured`: the footprint of the frozen state, which replaces the upper bound.
  [[nodiscard]] Status Thaw(Footprint measured);

 private:
  Status Apply(const std::vector<Edit>& edits, std::uint64_t reserved);

  State state_;
  Footprint footprint_;
  std::uint64_t reserved_ = 0;
  bool frozen_ = false;
  std::deque<Pending> pending_;
};

}  // namespace zenfs
