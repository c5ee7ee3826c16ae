// The part of a scrub that reads the log zones.
#pragma once

#include <span>

#include "model/state.h"
#include "volume/file_names.h"
#include "volume/scrub_context.h"

namespace zenfs {

// Every frame that a file of `state` points to. `report`: of all zones.
void ScrubLogs(ScrubContext& context, const State& state, const FileNames& names,
               std::span<const ZoneInfo> report);

}  // namespace zenfs
