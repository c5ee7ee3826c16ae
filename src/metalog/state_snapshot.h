// Writes the snapshot of a state as frames of a generation, over as many zones as it needs.
#pragma once

#include "metalog/generation_writer.h"
#include "model/state.h"

namespace zenfs {

// `writer` has begun its first zone; `state`, as of commit `sequence`, must not change meanwhile.
// Errors: as GenerationWriter's.
[[nodiscard]] Status WriteSnapshot(GenerationWriter& writer, const State& state, std::uint64_t sequence);

}  // namespace zenfs
