#include "backends/nvme/command_limits.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace zenfs {

Status AddCommandLimits(const std::string& path, const NamespaceFacts& facts, const NvmePath& commands,
                        Geometry& geometry) {
  if (facts.zone_size != geometry.zone_size || !IsMultiple(geometry.block_size, facts.block_size)) {
    return Fail(
        Code::kCorruption,
        fmt::format("{}: the drive has zones of {} bytes and blocks of {}, the kernel's have {} and {}", path,
                    facts.zone_size, facts.block_size, geometry.zone_size, geometry.block_size));
  }
  geometry.max_append_bytes = RoundDown(commands.longest_append(), geometry.block_size);
  geometry.max_copy_bytes = RoundDown(facts.longest_copy, geometry.block_size);
  if (IsMultiple(facts.random_unit, geometry.block_size)) {  // the kernel's granularity may be larger
    geometry.random_area_bytes = facts.random_area;
    geometry.random_area_unit = facts.random_unit;
    geometry.random_area_zones = facts.random_zones;
  }
  return {};
}

}  // namespace zenfs
