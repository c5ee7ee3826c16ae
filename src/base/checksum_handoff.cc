#include "base/checksum_handoff.h"

#include <fmt/format.h>

namespace zenfs {

Status CheckHandoff(std::uint64_t bytes, std::uint32_t computed, KnownCrc handed_over) {
  if (!handed_over || computed == *handed_over) return {};
  return Fail(
      Code::kCorruption,
      fmt::format("{} bytes to be written have the CRC-32C {:08x}, but the caller passed {:08x}: they were "
                  "changed in memory; none of them was accepted",
                  bytes, computed, *handed_over));
}

}  // namespace zenfs
