// The part of a scrub that reads the metadata zones.
#pragma once

#include <optional>

#include "metalog/log_fingerprint.h"
#include "volume/scrub_context.h"

namespace zenfs {

// Every superblock copy, and every frame of the generation in use and of those that are newer. `generation`: the one in
// use; none: the log could not be replayed, the highest is taken for it.
void ScrubMetadata(ScrubContext& context, const LogFingerprint& fingerprint,
                   std::optional<std::uint64_t> generation);

}  // namespace zenfs
