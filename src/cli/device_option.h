// The flags that name devices, and opening a device that they name.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/device_uri.h"
#include "base/status.h"
#include "cli/console.h"
#include "device/zoned_device.h"
#include "discovery/known_devices.h"
#include "open/mount_options.h"
#include "volume/volume.h"

namespace zenfs {

struct NamedDevice {
  std::unique_ptr<ZonedDevice> device;
  MountOptions mount_options;  // from the URI
};

// Resolves uuid: (discovery/resolve.h), and joins the device of the volume's logs if there is one
// (discovery/volume_device.h). Errors: those of resolving, of opening the device, and
// kInvalidArgument for unknown options.
[[nodiscard]] Result<NamedDevice> OpenNamedDevice(const DeviceUri& uri, OpenMode mode);
// The same for the device alone, whatever is on it. `uri` is resolved.
[[nodiscard]] Result<NamedDevice> OpenSingleDevice(const DeviceUri& uri, OpenMode mode);

// The flag for a word that looks like a device: "--emu=a.img"; empty if it looks like none.
[[nodiscard]] std::string DeviceFlagFor(const std::string& word);

class DeviceOption {
 public:
  enum Use {
    kOne,       // exactly one device
    kMany,      // one or more: each flag may be repeated
    kOneWrite,  // exactly one, to be mounted read-write: also adds --discard-unsynced
  };
  enum Words {
    kVolume,    // a word of the verb is the name of a volume
    kOwnWords,  // the verb has other words: only --volume names a volume
  };

  // Adds --volume, --zbd, --nvme, --zonefs, --emu and --uri, and the word VOLUME. `app` keeps references to this object.
  explicit DeviceOption(CLI::App& app, Use use = kOne, Words words = kVolume);

  // Some device was named by a flag or a word.
  [[nodiscard]] bool has_device() const { return !Given().empty(); }
  // The device of the flags or of the word. If none is given and `mode` is kReadOnly, the default volume of the configuration:
  // nothing is ever written to a device that the user did not name. Errors: kInvalidArgument unless exactly one was given; those of
  // the configuration (cli/configuration.h).
  [[nodiscard]] Result<DeviceUri> Uri(OpenMode mode) const;
  // With kMany: all devices of the flags and words. Errors: as Uri, but several are allowed.
  [[nodiscard]] Result<std::vector<DeviceUri>> Uris(OpenMode mode) const;
  // To write, takes the configuration's flush_dir if the URI has none. Errors: those of Uri and OpenNamedDevice.
  [[nodiscard]] Result<NamedDevice> Open(OpenMode mode) const;
  // Opens the device and mounts the volume: kReadOnly takes no lock and changes nothing. Prints the notices of the mount
  // (damage, lost data, flushed bytes that may be missing) to standard error, one line each. Errors: those of Open, such as
  // kBusy with the name of the process that has the device, and of Volume::Mount.
  [[nodiscard]] Result<std::shared_ptr<Volume>> Mount(OpenMode mode, Console& console) const;
  // The same with the files of the volume's aux directory (volume/aux_directory/aux_volume.h). If that can't be used, prints a note to
  // `console`, and the result is the volume alone.
  [[nodiscard]] Result<std::shared_ptr<Volume>> MountForFiles(OpenMode mode, Console& console) const;
  // Unmounts a volume, and prints the notices that were added since.
  [[nodiscard]] Status Unmount(Volume& volume, Console& console) const;

 private:
  void PrintNotices(std::span<const std::string> notices, Console& console) const;
  [[nodiscard]] Result<std::shared_ptr<Volume>> MountNamed(NamedDevice named, Console& console) const;

  // The devices that were typed: a flag, or "" for a word, and its value.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Given() const;
  [[nodiscard]] Result<DeviceUri> Default(OpenMode mode) const;

  const CLI::App& app_;
  const Use use_;
  std::vector<std::string> words_;
  std::vector<std::string> volume_;
  std::vector<std::string> zbd_;
  std::vector<std::string> nvme_;
  std::vector<std::string> zonefs_;
  std::vector<std::string> emu_;
  std::vector<std::string> uri_;
  bool discard_unsynced_ = false;
};

// The repeatable flag --emu of verbs over all devices: more emulated devices to look at.
class AskedDevices {
 public:
  // `app` keeps references to this object.
  explicit AskedDevices(CLI::App& app);

  // The devices of the flags, and all devices of this host and its lists.
  [[nodiscard]] KnownDevices Find() const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace zenfs
