#include "discovery/volume_device.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "backends/open_device.h"
#include "device/joined_device.h"
#include "discovery/contents.h"
#include "metalog/probe.h"

namespace zenfs {
namespace {

std::string NameOf(const DeviceUri& uri) { return uri.kind + ":" + uri.target; }

// Options of a mount belong to the first device.
Result<std::unique_ptr<ZonedDevice>> OpenLogs(const DeviceUri& uri, OpenMode mode) {
  DeviceOptions unknown;
  ZENFS_ASSIGN_OR_RETURN(auto device, OpenDevice(uri, mode, &unknown));
  if (unknown.empty()) return device;
  return Fail(Code::kInvalidArgument,
              fmt::format("unknown option \"{}\" of {}", unknown.front().first, NameOf(uri)));
}

// The superblock of the single device that `uri` names.
Result<Superblock> LookAt(const DeviceUri& uri) {
  ZENFS_ASSIGN_OR_RETURN(const auto device, OpenLogs(uri, OpenMode::kReadOnly));
  return FindSuperblock(*device);
}

bool HasLogsOf(const Superblock& logs, const Superblock& volume) {
  return logs.is_log_device() && logs.uuid == volume.uuid && logs.log_zones == volume.log_zones &&
         logs.first_log_zone == volume.first_log_zone && logs.created_seconds == volume.created_seconds;
}

std::unexpected<Error> Missing(const DeviceUri& main, const Superblock& volume, Code code,
                               const std::string& why) {
  return Fail(code,
              fmt::format("{}: the logs of its volume are on a second device, at mkfs {}, {}; attach that "
                          "device, or name it: ?waldev:KIND:NAME",
                          NameOf(main), volume.peer, why));
}

// Looks for the second device of `volume` under the name that mkfs knew, and then among all known devices.
Result<DeviceUri> FindLogDevice(const DeviceUri& main, const Superblock& volume, const SearchPlaces& places) {
  const Result<DeviceUri> recorded = ParseDeviceUri(volume.peer);
  const Result<Superblock> there = recorded ? LookAt(*recorded) : Fail(recorded.error());
  if (there && HasLogsOf(*there, volume)) return *recorded;
  std::optional<DeviceUri> holder;
  for (const KnownDevice& known : FindDevices(places).devices) {
    if (Probe(known).kind != Contents::Kind::kLogs) continue;
    const Result<Superblock> found = LookAt(known.uri);
    if (!found || !HasLogsOf(*found, volume)) continue;
    if (holder) {
      return Missing(main, volume, Code::kInvalidArgument,
                     fmt::format("and both {} and {} have them", NameOf(*holder), known.Name()));
    }
    holder = known.uri;
  }
  if (holder) return *holder;
  if (there) return Missing(main, volume, Code::kNotFound, "which has no logs of it now");
  return Missing(main, volume, there.error().code(),
                 fmt::format("which can't be used: {}", there.error().ToString()));
}

Status CheckNamed(const DeviceUri& main, const Result<Superblock>& volume, const DeviceUri& named,
                  const Superblock& logs) {
  if (volume && !volume->has_log_device()) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("option waldev: the logs of the volume on {} are on that device; leave the option "
                    "out, or make a new file system with zenfs mkfs --waldev",
                    NameOf(main)));
  }
  if (volume ? HasLogsOf(logs, *volume) : logs.is_log_device()) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("option waldev: {} has not the logs of the volume on {}{}", NameOf(named), NameOf(main),
                  logs.is_log_device() ? ", but those of " + logs.uuid.ToString() : ""));
}

// Nothing if `main` has its own logs.
Result<std::optional<DeviceUri>> ChooseLogDevice(const DeviceUri& main, const Result<Superblock>& volume,
                                                 const std::optional<DeviceUri>& named,
                                                 const SearchPlaces& places) {
  if (named) {
    const Result<Superblock> logs = LookAt(*named);
    if (!logs) return Fail(logs.error().With("option waldev"));
    ZENFS_RETURN_IF_ERROR(CheckNamed(main, volume, *named, *logs));
    return named;
  }
  if (!volume || !volume->has_log_device()) return std::nullopt;
  return FindLogDevice(main, *volume, places);
}

}  // namespace

Result<std::optional<DeviceUri>> TakeLogDevice(DeviceUri& uri) {
  const std::optional<std::string> value = TakeOption(uri.options, "waldev");
  if (!value) return std::nullopt;
  Result<DeviceUri> named = ParseDeviceUri(*value);
  if (!named) return Fail(named.error().With("option waldev"));
  return *std::move(named);
}

Result<std::unique_ptr<ZonedDevice>> OpenVolumeDevice(const DeviceUri& uri, OpenMode mode,
                                                      DeviceOptions* unclaimed, const SearchPlaces& places) {
  DeviceUri main = uri;
  ZENFS_ASSIGN_OR_RETURN(const std::optional<DeviceUri> named, TakeLogDevice(main));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device, OpenDevice(main, mode, unclaimed));
  const Result<Superblock> volume = FindSuperblock(*device);
  ZENFS_ASSIGN_OR_RETURN(const std::optional<DeviceUri> log_uri,
                         ChooseLogDevice(main, volume, named, places));
  if (!log_uri) return device;
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> logs, OpenLogs(*log_uri, mode));
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, FindSuperblock(*logs));
  if (volume && !HasLogsOf(superblock, *volume)) {
    return Missing(main, *volume, Code::kBusy, fmt::format("and {} was changed meanwhile", NameOf(*log_uri)));
  }
  return JoinDevices(std::move(device), std::move(logs), superblock.first_log_zone);
}

}  // namespace zenfs
