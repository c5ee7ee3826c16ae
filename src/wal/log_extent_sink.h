// Plain data in log zones, for devices with so few open or active zones that log and data share one (design
// rule 7). Each write is a frame whose header has a block of its own, so that the payload stays block-aligned
// and a scan can pass over it; the extents that point to it are what keeps the zone.
#pragma once

#include <memory>

#include "wal/log_space.h"
#include "zone/extent_sink.h"

namespace zenfs {

// Writing data stops with kNoSpace while the log can still go on: what is kept for it is not handed to data, only to
// copies that free a zone. `log` outlives the sink.
[[nodiscard]] std::unique_ptr<ExtentSink> MakeLogExtentSink(LogSpace& log, std::uint32_t block_size,
                                                            WritePurpose purpose = WritePurpose::kData);

}  // namespace zenfs
