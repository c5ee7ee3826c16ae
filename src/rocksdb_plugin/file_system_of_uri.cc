#include "rocksdb_plugin/file_system_of_uri.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/device_uri.h"
#include "rocksdb_plugin/aux_file_system.h"
#include "rocksdb_plugin/mount_uri.h"
#include "volume/aux_marker.h"

namespace zenfs {

namespace {

// The image names the directory, and anybody may have made the image. Without consent of this host,
// no file is created there.
Status CheckConsent(const std::string& uri, const VolumeInfo& volume) {
  const std::string& path = volume.superblock.aux_path;
  ZENFS_ASSIGN_OR_RETURN(const DeviceUri parsed, ParseDeviceUri(uri));
  const auto given = std::ranges::find(parsed.options, "aux_path", &DeviceOptions::value_type::first);
  if (given != parsed.options.end()) {
    if (!path.empty() && NormalizePath(given->second) == NormalizePath(path)) return {};
    return Fail(Code::kInvalidArgument,
                path.empty() ? fmt::format("option aux_path: {} has no aux directory", volume.device_name)
                             : fmt::format("option aux_path: the aux directory of {} is {}, not {}",
                                           volume.device_name, path, given->second));
  }
  if (path.empty() || MarkedVolume(path) == volume.superblock.uuid) return {};
  return Fail(
      Code::kPermission,
      fmt::format(
          "{} keeps LOG and LOCK in the directory {} of this host, but {} does not list that directory: "
          "if you trust the device, add aux_path:{} to the options of the URI, or write {} "
          "into {}/{}",
          volume.device_name, path, kAuxMarker, path, volume.superblock.uuid.ToString(), path, kAuxMarker));
}

}  // namespace

Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri) {
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, MountUri(uri));
  std::string aux_path = volume->info().superblock.aux_path;
  if (!aux_path.empty()) {
    const IOStatus usable = AuxDirectory(aux_path).Check();
    if (!usable.ok())
      return Fail(Code::kIo, usable.getState() == nullptr ? usable.ToString() : usable.getState());
  }
  ZENFS_RETURN_IF_ERROR(CheckConsent(uri, volume->info()));
  auto file_system = std::make_unique<ZenFileSystem>(uri, std::move(volume));
  if (aux_path.empty()) return file_system;
  return std::make_unique<AuxFileSystem>(std::move(file_system), std::move(aux_path));
}

}  // namespace zenfs
