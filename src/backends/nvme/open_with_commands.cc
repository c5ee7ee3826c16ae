#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "backends/block/block_device_impl.h"
#include "backends/host/block_facts.h"
#include "backends/nvme/command_limits.h"
#include "backends/nvme/nvme_device.h"
#include "backends/nvme/nvme_namespace.h"
#include "backends/nvme/nvme_path.h"
#include "backends/nvme/nvme_zone_control.h"

namespace zenfs {
namespace {

// Before Linux 6.2 the kernel lets everybody ask for identify data who may open the node, but only root send commands.
Status Probe(ZoneControl& control) {
  std::array<ReportedZone, 1> zone;
  std::size_t count = 0;
  const CommandResult answered = control.Report(0, zone, count);
  if (answered.ok()) return {};
  return FailErrno(answered.os_errno, WithStatus("a command was refused", answered.status));
}

// Changes `parts` only if it succeeds.
Status AddCommands(const std::string& node, const BlockFacts& facts, BlockDevice::Parts& parts) {
  const int flags = parts.mode == OpenMode::kExclusive ? O_RDWR : O_RDONLY;
  ZENFS_ASSIGN_OR_RETURN(NvmeNamespace opened, OpenNamespace(node, flags));
  const auto name_space = std::make_shared<const NvmeNamespace>(std::move(opened));
  ZENFS_RETURN_IF_ERROR(Probe(*ControlByCommands(name_space, UniqueFd())));
  const auto commands = std::make_shared<const NvmePath>(name_space, facts.longest_command);
  ZENFS_RETURN_IF_ERROR(AddCommandLimits(node, name_space->facts, *commands, parts.geometry));
  parts.control = ControlBesideKernel(std::move(parts.control), name_space);
  parts.commands = commands;
  parts.appends = commands;
  parts.entries = RingPool::Entries::kBig;
  return {};
}

}  // namespace

Result<std::unique_ptr<ZonedDevice>> OpenBlockDeviceWithCommands(const std::string& node, OpenMode mode,
                                                                 const BlockOptions& options) {
  ZENFS_ASSIGN_OR_RETURN(OpenedBlock opened, OpenBlockParts(node, mode, options));
  BlockDevice::Parts& parts = opened.parts;
  const std::string character_name = CharacterNodeOf(opened.facts.name);
  if (!character_name.empty()) {
    const Status added = AddCommands("/dev/" + character_name, opened.facts, parts);
    if (!added.ok() && mode == OpenMode::kExclusive) {
      parts.notices.push_back(
          fmt::format("{}: the log does without zone append: {}", parts.name, added.error().ToString()));
    }
  }
  return std::make_unique<BlockDevice>(std::move(parts));
}

}  // namespace zenfs
