// The part of a scrub that reads the log zones.
#pragma once

#include <span>

#include "model/state.h"
#include "volume/file_names.h"
#include "volume/scrub_context.h"

namespace zenfs {

// Verifies every frame of the files of `state`. `report` covers all zones.
void ScrubLogs(ScrubContext& context, const State& state, const FileNames& names,
               std::span<const ZoneInfo> report);

}  // namespace zenfs
