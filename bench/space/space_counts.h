// What a simulation counted. Plain values, in bytes unless the name says otherwise.
#pragma once

#include <cstdint>

namespace zenfs::space {

struct SpaceCounts {
  std::uint64_t data_bytes = 0;     // of plain files, as the trace wrote them
  std::uint64_t log_bytes = 0;      // of framed files
  std::uint64_t padding_bytes = 0;  // to whole blocks, at the end of plain files
  std::uint64_t copied_bytes = 0;   // of live data that reclaim moved, also out of log zones
  std::uint64_t finish_bytes = 0;   // unwritten parts of zones that were finished
  std::uint64_t freed_bytes = 0;    // in zones that data was written to, at their resets
  std::uint64_t mixed_bytes = 0;    // data and copies in zones whose first file had another lifetime
  std::uint64_t resets = 0;
  std::uint64_t zones_copied = 0;       // data zones that reclaim emptied
  std::uint64_t log_zones_cleaned = 0;  // log zones that reclaim emptied
  std::uint64_t waits = 0;              // rounds of reclaim that a write waited for

  std::uint64_t user_bytes() const { return data_bytes + log_bytes; }
  std::uint64_t device_bytes() const { return user_bytes() + padding_bytes + copied_bytes + finish_bytes; }

  // The counts since `before`.
  SpaceCounts Since(const SpaceCounts& before) const {
    return {.data_bytes = data_bytes - before.data_bytes,
            .log_bytes = log_bytes - before.log_bytes,
            .padding_bytes = padding_bytes - before.padding_bytes,
            .copied_bytes = copied_bytes - before.copied_bytes,
            .finish_bytes = finish_bytes - before.finish_bytes,
            .freed_bytes = freed_bytes - before.freed_bytes,
            .mixed_bytes = mixed_bytes - before.mixed_bytes,
            .resets = resets - before.resets,
            .zones_copied = zones_copied - before.zones_copied,
            .log_zones_cleaned = log_zones_cleaned - before.log_zones_cleaned,
            .waits = waits - before.waits};
  }
  // Bytes written to the device for each byte that RocksDB wrote; finishes count as writes.
  double write_amplification() const {
    return user_bytes() == 0 ? 1 : static_cast<double>(device_bytes()) / static_cast<double>(user_bytes());
  }
};

}  // namespace zenfs::space
