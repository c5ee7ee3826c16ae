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
// Threads: no lock; the lock of the log guards it (metalog_parts.h). A log switch reads the frozen state without the lock.
// Units: bytes of a snapshot.
// Errors: only of Add and Thaw, if edits contradict the state. That is a bug; the state must not be used afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/status.h"
#include "metalog/footprint.h"
#include "model/state.h"

namespace zenfs {

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

  bool frozen() const { return frozen_; }
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
