// How far the numbers of a volume count: epochs, ids, generations of log zones, sequences and offsets in files.
//
// Frames with numbers from kStateNumbersEnd on are passed over when a log is read, because no writer comes to them. So no
// commit may bring the state there, and no mount may count on from a state that is near.
#pragma once

#include <cstdint>
#include <optional>

#include "model/state.h"

namespace zenfs {

// A commit that brings a number to this is refused.
inline constexpr std::uint64_t kStateNumbersEnd = std::uint64_t{1} << 63;
// A state from here on is damaged.
inline constexpr std::uint64_t kStateNumbersCredible = kStateNumbersEnd / 2;
// A mount counts on only from below this. No writer comes from here to kStateNumbersCredible, so what was sound stays so.
inline constexpr std::uint64_t kStateNumbersStart = kStateNumbersCredible / 2;

// The first number of the state that is not below `limit`.
[[nodiscard]] std::optional<StateFlaw> FindNumberFrom(const State& state, std::uint64_t limit);

}  // namespace zenfs
