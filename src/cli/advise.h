// Options of RocksDB that suit a zoned device. A pure function of the device's shape and of the host.
//
// Units: bytes. Threads: any. Errors: kNotSupported if the device is too small for a volume, or allows too few active zones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/geometry.h"

namespace zenfs {

// Memtables are RocksDB's usual four, of 1 MiB at least, in half of the memory.
inline constexpr std::uint64_t kLeastMemory = 8 << 20;

struct AdviceInput {
  std::string_view device;  // for messages
  Geometry geometry;
  std::uint64_t zone_capacity = 0;  // of most sequential zones
  std::uint32_t zones = 0;          // sequential zones that can be used
  std::uint32_t kept_zones = 0;     // of these: for metadata, logs and copies
  std::uint32_t metadata_copies = 1;
  std::uint64_t memory = 0;  // for memtables and the block cache
  std::uint32_t jobs = 1;    // most threads for flushes and compactions
};

struct AdvisedOption {
  // Where RocksDB has it: [DBOptions] or [CFOptions "default"] of an options file.
  enum class Section : std::uint8_t { kDatabase, kColumnFamily };

  Section section = Section::kDatabase;
  std::string_view name;      // in an options file
  std::string_view db_bench;  // the flag; empty: db_bench has none
  std::string value;
  std::string reason;  // one line
};

[[nodiscard]] Result<std::vector<AdvisedOption>> Advise(const AdviceInput& input);

}  // namespace zenfs
