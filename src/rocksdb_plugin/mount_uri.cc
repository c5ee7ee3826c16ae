#include "rocksdb_plugin/mount_uri.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/device_uri.h"
#include "backends/open_device.h"
#include "discovery/resolve.h"
#include "discovery/volume_device.h"
#include "rocksdb_plugin/print_line.h"
#include "rocksdb_plugin/zenfs_file_system.h"
#include "volume/aux_directory/aux_volume.h"
#include "volume/mount/mount_table.h"

namespace zenfs {

namespace {

// The options that the device does not claim are those of the mount. To learn them, open the device
// read-only, which disturbs nobody, not even a volume that is mounted from it. A second device claims none.
Result<MountOptions> MountOptionsOf(DeviceUri uri) {
  ZENFS_RETURN_IF_ERROR(TakeLogDevice(uri));
  DeviceOptions unclaimed;
  ZENFS_RETURN_IF_ERROR(OpenDevice(uri, OpenMode::kReadOnly, &unclaimed));
  return ParseMountOptions(unclaimed, DeviceOptionForms());
}

// A read-only mount writes no LOG, and the program's own log is not known here.
void PrintNotices(const Volume& volume) {
  for (const std::string& notice : volume.notices()) PrintLine(notice);
}

// Shared mounts are known by the names of their devices, and another file may have been put at a name since.
Status CheckUuid(const Volume& volume, const std::string& uuid) {
  const VolumeInfo& info = volume.info();
  if (info.superblock.uuid == Uuid::Parse(uuid)) return {};
  return Fail(
      Error(Code::kBusy, fmt::format("uuid:{}: this process has another volume mounted, from a device that "
                                     "was at the same name, {}",
                                     uuid, info.device_name))
          .Advise("unmount that volume, or give this device another name"));
}

}  // namespace

Result<std::shared_ptr<Volume>> MountUri(const std::string& uri) {
  ZENFS_ASSIGN_OR_RETURN(const DeviceUri named, ParseDeviceUri(uri));
  ZENFS_ASSIGN_OR_RETURN(const ResolvedUri device, ResolveUri(named));
  ZENFS_ASSIGN_OR_RETURN(const MountOptions options, MountOptionsOf(device.uri));
  const OpenMode mode = options.read_only ? OpenMode::kReadOnly : OpenMode::kExclusive;
  bool is_new = false;
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, MountShared(Canonical(device.uri), options, [&] {
                           is_new = true;
                           DeviceOptions known_already;
                           return OpenVolumeDevice(device, mode, &known_already);
                         }));
  if (is_new && options.read_only) PrintNotices(*volume);
  if (named.kind == "uuid") ZENFS_RETURN_IF_ERROR(CheckUuid(*volume, named.target));
  return volume;
}

Result<std::shared_ptr<Volume>> VolumeOfUri(const std::string& uri) {
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, MountUri(uri));
  // Not from the mount's options: those are of whoever mounted the volume first in this process.
  ZENFS_ASSIGN_OR_RETURN(const DeviceUri parsed, ParseDeviceUri(uri));
  const auto consent = std::ranges::find(parsed.options, "aux_path", &DeviceOptions::value_type::first);
  return WithAuxDirectory(std::move(volume), consent == parsed.options.end() ? "" : consent->second);
}

Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri) {
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, VolumeOfUri(uri));
  return std::make_unique<ZenFileSystem>(uri, std::move(volume));
}

}  // namespace zenfs
