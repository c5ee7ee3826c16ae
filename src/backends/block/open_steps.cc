#include "backends/block/open_steps.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "backends/block/device_users.h"

namespace zenfs {
namespace {

std::unexpected<Error> Bad(std::string text) { return Fail(Code::kInvalidArgument, std::move(text)); }

}  // namespace

Status CheckModel(const std::string& path, const BlockFacts& facts) {
  if (facts.partition) {
    return Bad(fmt::format("{} is a partition; zones belong to the whole device, {}", path, facts.disk));
  }
  switch (facts.model) {
    case ZonedModel::kHostManaged: return {};
    case ZonedModel::kHostAware:
      return Bad(fmt::format(
          "{} is a host-aware disk, whose zones may be written anywhere; ZenFS needs a host-managed one",
          path));
    case ZonedModel::kNotZoned: break;
  }
  return Bad(
      fmt::format("{} is a regular disk, not a zoned one; `zenfs devices` lists the zoned devices, "
                  "`zenfs emu create` makes an emulated one",
                  path));
}

Status OpenError(int error, const std::string& path, const BlockFacts& facts, OpenMode mode) {
  if (error == EBUSY) {
    const std::string user = DescribeDeviceUsers(facts);
    return Fail(Code::kBusy,
                fmt::format("{} is in use{}", path, user.empty() ? " by somebody else" : ": " + user), error);
  }
  if (error == EACCES || error == EPERM) {
    return Fail(ErrnoError(error, fmt::format("{}: can't be opened to {} it", path,
                                              mode == OpenMode::kReadOnly ? "read" : "write"))
                    .Advise("join the group of the device node or have it changed "
                            "(packaging/udev/60-zenfs.rules shows how)"));
  }
  return FailErrno(error, path);
}

Result<Geometry> CheckedGeometry(const std::string& path, const BlockFacts& facts,
                                 const std::vector<ReportedZone>& zones) {
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const bool last = i + 1 == zones.size();
    const std::uint64_t start = i * facts.zone_size;
    const std::uint64_t length = zones[i].length;
    if (zones[i].info.start.value != start || length > facts.zone_size ||
        (!last && length != facts.zone_size)) {
      return Fail(Code::kCorruption,
                  fmt::format("{}: zone {} is reported from {}, {} bytes long; by the kernel's zone size "
                              "of {} it begins at {}",
                              path, i, zones[i].info.start.value, length, facts.zone_size, start));
    }
    if (zones[i].info.type == ZoneType::kSequentialPreferred) {
      return Bad(
          fmt::format("{}: zone {} is one of a host-aware disk; ZenFS needs a host-managed one", path, i));
    }
  }
  return Geometry{.block_size = facts.write_granularity,
                  .zone_size = facts.zone_size,
                  .zone_count = static_cast<std::uint32_t>(zones.size()),
                  .max_open = facts.max_open,
                  .max_active = facts.max_active,
                  .max_append_bytes = 0,
                  .volatile_cache = facts.volatile_cache};
}

}  // namespace zenfs
