// The part of a scrub that reads the metadata zones.
#pragma once

#include <optional>

#include "metalog/log_fingerprint.h"
#include "volume/scrub_context.h"

namespace zenfs {

// Verifies every copy of the superblock, and every frame of the generation in use and of newer ones. `generation` is the one
// in use; without it the log could not be replayed, and the highest generation counts as the one in use.
void ScrubMetadata(ScrubContext& context, const LogFingerprint& fingerprint,
                   std::optional<std::uint64_t> generation);

}  // namespace zenfs
