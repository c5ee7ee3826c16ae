// The flags that name a device, and opening what they name.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "backends/device_uri.h"
#include "base/status.h"
#include "cli/console.h"
#include "device/zoned_device.h"
#include "volume/mount_options.h"
#include "volume/volume.h"

namespace zenfs {

struct NamedDevice {
  std::unique_ptr<ZonedDevice> device;
  MountOptions mount_options;  // of the URI, if it has any
};

// uuid: is looked for (discovery/resolve.h). Errors: those of that, of opening the device, and kInvalidArgument for
// options nobody knows.
[[nodiscard]] Result<NamedDevice> OpenNamedDevice(const DeviceUri& uri, OpenMode mode);

class DeviceOption {
 public:
  enum Use {
    kOne,       // exactly one device
    kMany,      // one or more: each flag may be given again and again
    kOneWrite,  // exactly one, to be mounted read-write: also adds --discard-unsynced
  };

  // Adds --zbd, --zonefs, --emu and --uri. `app` keeps references to this object.
  explicit DeviceOption(CLI::App& app, Use use = kOne);

  // What the flags name. Errors: kInvalidArgument unless exactly one of them was given.
  [[nodiscard]] Result<DeviceUri> Uri() const;
  // All that the flags name, with kMany. Errors: as Uri, but that one is enough.
  [[nodiscard]] Result<std::vector<DeviceUri>> Uris() const;
  // Errors: those of Uri and OpenNamedDevice.
  [[nodiscard]] Result<NamedDevice> Open(OpenMode mode) const;
  // Opens for reading and mounts: takes no lock and changes nothing.
  [[nodiscard]] Result<std::shared_ptr<Volume>> MountReadOnly() const;
  // Opens for writing and mounts. Errors: those of Open, among them kBusy with the name of the process that has
  // the device, and of Volume::Mount. What the mount has to say (damage, what it gave up) goes to `console`, a line
  // each: the next mount will not know of it any more.
  [[nodiscard]] Result<std::shared_ptr<Volume>> MountReadWrite(Console& console) const;

 private:
  const CLI::App& app_;
  const Use use_;
  std::vector<std::string> zbd_;
  std::vector<std::string> zonefs_;
  std::vector<std::string> emu_;
  std::vector<std::string> uri_;
  bool discard_unsynced_ = false;
};

}  // namespace zenfs
