// The text form of a device:  [zenfs://]KIND:TARGET[?KEY[:VALUE][,KEY[:VALUE]...]]
//
//    zenfs://dev:nvme0n1                           a zoned block device: a name under /dev, or a path
//    zenfs://nvme:ng0n1                            a zoned NVMe drive: its character device
//    zenfs://zonefs:/mnt/z                         a mounted zonefs
//    zenfs://uuid:01234567-89ab-4cde-8f01-23456789abcd   the device with this volume (discovery/resolve.h)
//    zenfs://emu:/var/tmp/a.img?ro,latency_us:10   an emulated device in a file
//
// Options must not contain `=` and `;`: these would end the URI inside an option string of RocksDB.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/host/backend_option.h"
#include "base/status.h"

namespace zenfs {

struct DeviceUri {
  std::string kind;    // "dev", "nvme", "zonefs", "uuid", "emu"
  std::string target;  // the part after the colon, never empty
  DeviceOptions options;
};

// All kinds.
[[nodiscard]] std::span<const std::string_view> DeviceKinds();

// Errors: kInvalidArgument; the text has the accepted form.
[[nodiscard]] Result<DeviceUri> ParseDeviceUri(std::string_view text);

// OK if `text` begins with "zenfs://". Errors: kInvalidArgument, with the URI that is meant by "emu:PATH", "zenfs:emu:PATH" and the
// like; else those of ParseDeviceUri.
[[nodiscard]] Status CheckScheme(std::string_view text);

// Removes the option `key` from `options` and returns its value; nothing if it is not there.
[[nodiscard]] std::optional<std::string> TakeOption(DeviceOptions& options, std::string_view key);

// Returns the same text for every spelling of a device, without options: "dev:/dev/nvme0n1",
// "nvme:/dev/ng0n1", "zonefs:/mnt/z", "emu:/absolute/path"; a uuid in lower case. Symbolic links are resolved. A path
// that does not exist is only made absolute.
[[nodiscard]] std::string Canonical(const DeviceUri& uri);

}  // namespace zenfs
