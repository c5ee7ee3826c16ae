// Where a plain file's blocks go: into zones that hold nothing but data.
#pragma once

#include <memory>
#include <span>

#include "base/clock.h"
#include "zone/zone_manager.h"

namespace zenfs {

// State that a sink keeps for one file between writes. Used by one thread at a time.
struct SinkCursor {
  ZoneClaim claim;
};

class ExtentSink {
 public:
  struct Placed {
    DeviceOffset place;
    std::uint64_t length = 0;  // bytes written; a multiple of the block size, maybe less than asked
    ZonePin pin;
  };

  virtual ~ExtentSink() = default;

  // Writes as much of `pieces` as goes into one zone, at least one block, and says where. Retries in another
  // zone when a zone ends early or fails; an error means that nothing was written and all that could be tried
  // was. Any thread.
  [[nodiscard]] virtual Result<Placed> Write(SinkCursor& cursor, Lifetime lifetime,
                                             std::span<const ByteView> pieces, Deadline deadline) = 0;
};

// `zones` outlives the sink.
[[nodiscard]] std::unique_ptr<ExtentSink> MakeZoneExtentSink(ZoneManager& zones,
                                                             WritePurpose purpose = WritePurpose::kData);

}  // namespace zenfs
