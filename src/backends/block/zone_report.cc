#include "backends/block/zone_report.h"

#include <fmt/format.h>

namespace zenfs {

Result<std::vector<ReportedZone>> ReportZones(ZoneControl& control, const std::string& device,
                                              std::uint64_t zone_size, ZoneId first, std::uint32_t count) {
  std::vector<ReportedZone> zones(count);
  std::size_t have = 0;
  while (have < count) {
    std::size_t more = 0;
    const std::uint64_t start = (first.value + have) * zone_size;
    const CommandResult result = control.Report(start, std::span(zones).subspan(have), more);
    if (!result.ok()) {
      return FailErrno(result.os_errno,
                       WithStatus(fmt::format("{}: the report of its zones, from zone {} on, failed", device,
                                              first.value + have),
                                  result.status));
    }
    if (more == 0) {
      return Fail(Code::kCorruption, fmt::format("{} reports {} zones from zone {} on, {} were expected",
                                                 device, have, first.value, count));
    }
    have += more;
  }
  for (std::uint32_t i = 0; i < count; ++i) zones[i].info.id = ZoneId(first.value + i);
  return zones;
}

}  // namespace zenfs
