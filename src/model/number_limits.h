// Upper limits of the numbers of a volume: epochs, ids, generations of log zones, sequences and file offsets.
//
// No writer reaches kStateNumbersEnd, so a scan skips frames with such numbers. Therefore no commit may bring a number
// there, and no mount may continue from a state close to it.
#pragma once

#include <cstdint>
#include <optional>

#include "model/state.h"

namespace zenfs {

// A commit is refused if a number would reach this.
inline constexpr std::uint64_t kStateNumbersEnd = std::uint64_t{1} << 63;
// A state with a number of at least this is damaged.
inline constexpr std::uint64_t kStateNumbersCredible = kStateNumbersEnd / 2;
// A mount is refused unless all numbers are below this. No writer can count from here to kStateNumbersCredible, so a valid
// state stays valid.
inline constexpr std::uint64_t kStateNumbersStart = kStateNumbersCredible / 2;

// Finds a number of the state that is at least `limit`. Nothing if all are lower.
[[nodiscard]] std::optional<StateFlaw> FindNumberFrom(const State& state, std::uint64_t limit);

}  // namespace zenfs
