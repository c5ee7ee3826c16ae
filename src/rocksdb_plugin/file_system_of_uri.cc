#include "rocksdb_plugin/file_system_of_uri.h"

#include <algorithm>

#include "backends/device_uri.h"
#include "rocksdb_plugin/mount_uri.h"
#include "rocksdb_plugin/zenfs_file_system.h"
#include "volume/aux_directory/aux_volume.h"

namespace zenfs {

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
