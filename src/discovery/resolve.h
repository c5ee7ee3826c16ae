// Finds the device with the file system of a UUID.
#pragma once

#include <optional>
#include <string>

#include "backends/device_uri.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "discovery/known_devices.h"

namespace zenfs {

// A device that was looked at, before it is opened once more by the same name. Who may change a directory on the way may lead
// the name to another device meanwhile, which nobody has judged.
struct JudgedDevice {
  std::string identity;  // ZonedDevice::identity()
  std::optional<DeviceOwner> owner;

  // `opened` was opened by the name `uri`. Errors: kBusy if it is another device, or has another owner.
  [[nodiscard]] Status CheckIsStill(const ZonedDevice& opened, const DeviceUri& uri) const;
};

struct ResolvedUri {
  // One that names its device itself.
  ResolvedUri(DeviceUri named) : uri(std::move(named)) {}  // NOLINT: most are
  ResolvedUri(DeviceUri found, JudgedDevice as) : uri(std::move(found)), judged(std::move(as)) {}

  DeviceUri uri;  // not of the kind uuid:
  // Of a device that was found by its UUID. Whoever opens it must compare.
  std::optional<JudgedDevice> judged;
};

// Replaces uuid:UUID by the URI of the known device that holds this ZenFS, with the same options;
// returns all other URIs unchanged. Reads one superblock per device.
//
// Errors: kInvalidArgument: not a UUID, or two devices hold it (a copy); the text names both.
// kNotFound: none does; the text has the number of devices read, and those that could not be read
// with the reason. Threads: any.
[[nodiscard]] Result<ResolvedUri> ResolveUri(const DeviceUri& uri,
                                             const SearchPlaces& places = SearchPlaces::OfThisProcess());

}  // namespace zenfs
