#include "discovery/contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backends/block/block_device.h"
#include "backends/block/open_block_device.h"
#include "backends/host/lock_holder.h"
#include "backends/open_device.h"
#include "base/aligned_buffer.h"
#include "metalog/probe.h"

namespace zenfs {
namespace {

// The first bytes of the block device: ZONEFS_MAGIC (0x5a4f4653, linux/magic.h), little-endian.
constexpr std::string_view kZonefsMagic = "SFOZ";

Result<std::unique_ptr<ZonedDevice>> OpenToLook(const KnownDevice& known) {
  DeviceOptions none;
  return OpenDevice(known.uri, OpenMode::kReadOnly, &none);
}

Contents NotOpened(const Error& error) {
  switch (error.code()) {
    case Code::kNotFound:
    case Code::kInvalidArgument:
    case Code::kNotSupported: return {.kind = Contents::Kind::kNoDevice, .why = error};
    default: return {.kind = Contents::Kind::kUnreadable, .why = error};
  }
}

bool HoldsZonefs(ZonedDevice& device) {
  AlignedBuffer block(device.geometry().block_size);
  block.Resize(block.capacity());
  const Result<ZoneInfo> first = device.ReportZone(ZoneId(0));
  if (!first) return false;
  const bool written = first->WrittenBytes() >= block.size();
  if (!written && first->type != ZoneType::kConventional) return false;
  if (!device.Read(DeviceOffset(0), block.Span()).ok()) return false;
  return std::memcmp(block.data(), kZonefsMagic.data(), kZonefsMagic.size()) == 0;
}

Contents ContentsOf(ZonedDevice& device) {
  const Result<Superblock> found = FindSuperblock(device);
  const bool one_of_two = found && (found->is_log_device() || found->has_log_device());
  const Result<Superblock> superblock = one_of_two ? found : ProbeReadable(device);
  if (superblock) {
    return {.kind = superblock->is_log_device() ? Contents::Kind::kLogs : Contents::Kind::kZenfs,
            .uuid = superblock->uuid,
            .label = superblock->label,
            .identity = device.identity(),
            .owner = device.owner(),
            .is_older = superblock->is_older(),
            .why = {}};
  }
  // Check this first: seen from the block device, a ZenFS that was made through a zonefs is in the
  // wrong place.
  if (HoldsZonefs(device)) return {.kind = Contents::Kind::kZonefs, .why = {}};
  if (superblock.error().code() == Code::kNotFound) return {.kind = Contents::Kind::kOther, .why = {}};
  return {.kind = Contents::Kind::kUnreadable, .why = superblock.error()};
}

// Reports some zones at a time, because a device may claim any number of zones.
void AddZones(ZonedDevice& device, DeviceLook& look) {
  constexpr std::uint32_t kAtOnce = 4096;
  const std::uint32_t count = device.geometry().zone_count;
  bool written = false;
  for (std::uint32_t first = 0; first < count; first += kAtOnce) {
    const auto zones = device.Report(ZoneId(first), std::min(kAtOnce, count - first));
    if (!zones) return;  // zones that can't be reported stay unknown
    for (const ZoneInfo& zone : *zones) {
      if (zone.type == ZoneType::kConventional) {
        ++look.conventional;
        continue;
      }
      look.zone_capacity = std::max(look.zone_capacity, zone.capacity);
      written |= zone.WrittenBytes() > 0;
    }
  }
  if (look.contents.kind == Contents::Kind::kOther && !written) look.contents.kind = Contents::Kind::kNothing;
}

std::string PathOf(const DeviceUri& uri) {
  if (uri.kind == "dev") return BlockNodePath(uri.target);
  return uri.kind == "zonefs" ? uri.target + "/seq/0" : uri.target;
}

// Looks at the lists of the kernel, and takes no lock.
std::string WriterOf(const KnownDevice& known) {
  if (known.uri.kind == "zonefs") return DescribeLockHolder(known.uri.target + "/seq");
  if (known.uri.kind == "emu") return DescribeLockHolder(known.uri.target);
  return known.block ? DescribeDeviceWriter(*known.block) : "";
}

bool Allows(const std::string& path, int access) {
  return ::faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) == 0;
}

}  // namespace

Contents Probe(const KnownDevice& known) {
  if (!known.used_by.empty()) return {.kind = Contents::Kind::kUsed, .why = {}};
  const auto device = OpenToLook(known);
  return device ? ContentsOf(**device) : NotOpened(device.error());
}

DeviceLook Examine(const KnownDevice& known) {
  DeviceLook look;
  const std::string path = PathOf(known.uri);
  look.readable = Allows(path, R_OK);
  look.writable = Allows(path, W_OK);
  look.in_use_by = WriterOf(known);
  const auto device = OpenToLook(known);
  if (!known.used_by.empty()) {
    look.contents.kind = Contents::Kind::kUsed;
  } else {
    look.contents = device ? ContentsOf(**device) : NotOpened(device.error());
  }
  if (!device) return look;
  look.geometry = (*device)->geometry();
  look.notices = (*device)->notices();
  AddZones(**device, look);
  return look;
}

}  // namespace zenfs
