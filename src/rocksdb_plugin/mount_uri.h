// From a URI to its volume, and to RocksDB's FileSystem on it. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"
#include "volume/volume.h"

namespace zenfs {

// "zenfs://emu:/var/tmp/a.img?ro" -> the volume, shared with all users in this process who mounted
// the same device. Options that the device does not know are mount options
// (open/mount_options.h); an option that neither knows is an error, also if the device is mounted
// already. Errors: those of ParseDeviceUri, ResolveUri, OpenDevice, ParseMountOptions and
// MountShared.
[[nodiscard]] Result<std::shared_ptr<Volume>> MountUri(const std::string& uri);

// The volume as RocksDB's programs see it: with its aux directory if it has one (volume/aux_directory/aux_volume.h). Errors:
// those of MountUri and WithAuxDirectory.
[[nodiscard]] Result<std::shared_ptr<Volume>> VolumeOfUri(const std::string& uri);
// The files of VolumeOfUri.
[[nodiscard]] Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri);

}  // namespace zenfs
