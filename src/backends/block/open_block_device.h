// Opens a block device, and the steps that this has in common with opening it by NVMe commands (nvme/nvme_device.h).
#pragma once

#include <string>
#include <vector>

#include "backends/block/block_device.h"
#include "backends/block/block_device_impl.h"
#include "backends/host/block_facts.h"
#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

// What OpenBlockDevice makes a device of. The caller may add to the parts.
struct OpenedBlock {
  BlockFacts facts;
  BlockDevice::Parts parts;
};
// By libzbd, or by ioctl if libzbd can't be used for the node. Returns nullptr and sets errno on failure.
[[nodiscard]] std::unique_ptr<ZoneControl> OpenControl(const std::string& path, int flags);
// `control` opens the node: OpenControl, or one of the two ways for tests (block/zone_control.h).
[[nodiscard]] Result<OpenedBlock> OpenBlockParts(const std::string& node, OpenMode mode,
                                                 const BlockOptions& options,
                                                 decltype(&OpenControl) control = OpenControl);

// kInvalidArgument unless the device is a whole host-managed disk: only those enforce the rules that the layers above rely
// on.
[[nodiscard]] Status CheckModel(const std::string& path, const BlockFacts& facts);

// The error for open(2) of the device's node, with who uses the device, or how to get the permission.
[[nodiscard]] Status OpenError(int error, const std::string& path, const BlockFacts& facts, OpenMode mode);

// Errors: kCorruption if the zones are not where the kernel's zone size puts them; kInvalidArgument for zones of a
// host-aware disk.
[[nodiscard]] Result<Geometry> CheckedGeometry(const std::string& path, const BlockFacts& facts,
                                               const std::vector<ReportedZone>& zones);

// "mounted at /mnt", "part of dm-0", "open in process 1234 (db_bench)", or "" if the kernel shows
// none of it (a process of another user, another namespace). Tests pass a directory as `root`,
// which replaces / in the path of /proc.
[[nodiscard]] std::string DescribeDeviceUsers(const BlockFacts& facts, const std::string& root = "");
// "process 1234 (db_bench)" for a process that has the device open for writing; empty under the same conditions.
[[nodiscard]] std::string DescribeDeviceWriter(const BlockFacts& facts, const std::string& root = "");

}  // namespace zenfs
