#include "model/number_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {

std::optional<StateFlaw> FindNumberFrom(const State& state, std::uint64_t limit) {
  if (std::max({state.epoch(), state.next_id(), state.next_generation()}) >= limit) {
    return StateFlaw{
        .text = fmt::format("the epoch is {}, the next id {} and the next generation {}: higher than any "
                            "writer counts",
                            state.epoch(), state.next_id(), state.next_generation()),
        .files = {}};
  }
  for (const auto& [id, file] : state.files()) {
    if (std::max(file->next_sequence, file->size) < limit) continue;
    return StateFlaw{
        .text = fmt::format("file {} has size {} and its next frame is {}: higher than any writer counts",
                            id.value, file->size, file->next_sequence),
        .files = {id}};
  }
  return std::nullopt;
}

}  // namespace zenfs
