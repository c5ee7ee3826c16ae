// All committed extents by their place on the device, so that the files in a zone are found without a walk over all
// files.
//
// Invariant: after each Update it contains exactly the extents of the state, even if a damaged volume has two extents
// at one place.
//
// Cost: O(log n) time for each extent that a commit adds or drops, and once for those that are at the same places; about 64
// bytes of memory for each extent.
// Threads: not thread-safe; the owner locks.
#pragma once

#include <compare>
#include <set>
#include <span>

#include "model/state.h"

namespace zenfs {

class ExtentIndex {
 public:
  struct Entry {
    DeviceOffset place;  // the first byte of the extent
    FileId file = kNoFile;
    std::uint64_t file_offset = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  explicit ExtentIndex(const State& state);

  // Applies one commit. `lost` is Effects::lost of `edits`; `state` is the state after them.
  void Update(std::span<const Edit> edits, std::span<const Extent> lost, const State& state);

  const std::set<Entry>& entries() const { return entries_; }

 private:
  std::set<Entry> entries_;
};

}  // namespace zenfs
