// Workloads that are made up: the events of a RocksDB of any size, from a seed. The same options give the same events.
//
// A workload has no end. It writes files in pieces, several at a time, as RocksDB's threads do.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "trace_source.h"

namespace zenfs::space {

// A file is written in so many pieces, between which other files are written.
inline constexpr std::uint64_t kPiecesAFile = 4;

struct WorkloadOptions {
  std::uint64_t live_bytes = 0;               // of all files at a time, about
  std::uint64_t file_bytes = 256ULL << 20;    // of a full table (target_file_size_base)
  std::uint64_t buffer_bytes = 256ULL << 20;  // of a memtable (write_buffer_size); leveled only
  std::uint32_t writers = 8;                  // files that are written at a time (max_background_jobs)
  std::uint32_t multiplier = 10;              // of the levels; leveled only
  std::uint64_t seed = 1;
};

// Names for `MakeWorkload`, the default first, and what they are.
struct WorkloadKind {
  std::string_view name;
  std::string_view title;
};
inline constexpr WorkloadKind kWorkloads[] = {
    {"leveled", "a leveled LSM tree under uniform overwrites, with its logs"},
    {"uniform", "files overwritten in random order, without lifetimes"},
    {"zipf", "some files are overwritten far more often; lifetimes are right"},
};

// Null if there is no workload of this name.
[[nodiscard]] std::unique_ptr<TraceSource> MakeWorkload(std::string_view name,
                                                        const WorkloadOptions& options);

}  // namespace zenfs::space
