// Writes the blocks of plain files to data zones.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "zone/zone_manager.h"

namespace zenfs {

// A sink's state for one file between two writes. For one thread at a time.
struct SinkCursor {
  std::vector<ZoneClaim> claims;  // one for each zone that the file is spread over (zone/spread.h)
  std::size_t current = 0;        // of `claims`: where the next write goes
  std::uint64_t in_unit = 0;      // bytes that went there in this turn
  bool failed = false;            // a write to several zones at once: one zone at a time from now on
};

class ExtentSink {
 public:
  struct Placed {
    DeviceOffset place;
    std::uint64_t length = 0;  // bytes written: a multiple of the block size, maybe less than requested
    ZonePin pin;
  };

  virtual ~ExtentSink() = default;

  // Writes the front of `pieces` to one zone, as much as fits and at least one block. If a zone is ended early or
  // fails, tries again with another zone, a limited number of times. After an error, discard the data of this write.
  // Thread-safe. Errors: those of ZoneManager::AllocateData and ZoneWriter::Write; kIo if too many zones failed.
  [[nodiscard]] virtual Result<Placed> Write(SinkCursor& cursor, Lifetime lifetime,
                                             std::span<const ByteView> pieces, Deadline deadline) = 0;
  // The same for the front of `pieces`, which may go to several zones at once: the parts in the order of their bytes. At least one.
  [[nodiscard]] virtual Result<std::vector<Placed>> WriteSpread(SinkCursor& cursor, Lifetime lifetime,
                                                                std::span<const ByteView> pieces,
                                                                Deadline deadline);
  // The same as Write for the `length` bytes at `from` on the device, by copies inside the device. Further error: kNotSupported: the
  // device did not take it, and nothing was written.
  [[nodiscard]] virtual Result<Placed> Copy(SinkCursor& cursor, Lifetime lifetime, DeviceOffset from,
                                            std::uint64_t length, Deadline deadline);
};

// `zones` outlives the sink. `spread`: over how many zones a file is spread, at least 1. `written`, if not null, outlives the sink
// and counts the bytes that it places.
[[nodiscard]] std::unique_ptr<ExtentSink> MakeZoneExtentSink(ZoneManager& zones,
                                                             WritePurpose purpose = WritePurpose::kData,
                                                             std::uint32_t spread = 1,
                                                             std::atomic<std::uint64_t>* written = nullptr);

}  // namespace zenfs
