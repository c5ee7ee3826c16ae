// Writes the snapshot of a state as frames of a generation, in as many zones as it needs.
#pragma once

#include "metalog/generation_writer.h"
#include "model/state.h"

namespace zenfs {

// `writer` must have begun its first zone. `state` is as of commit `sequence` and must not change during the call.
// Errors: those of GenerationWriter.
[[nodiscard]] Status WriteSnapshot(GenerationWriter& writer, const State& state, std::uint64_t sequence);

}  // namespace zenfs
