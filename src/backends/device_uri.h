// How a person names a device:  [zenfs://]KIND:TARGET[?KEY[:VALUE][,KEY[:VALUE]...]]
//
//   zenfs://dev:nvme0n1                           a zoned block device: a name under /dev, or a path
//   zenfs://zonefs:/mnt/z                         a mounted zonefs
//   zenfs://uuid:01234567-89ab-4cde-8f01-23456789abcd   whatever holds that file system (discovery/resolve.h)
//   zenfs://emu:/var/tmp/a.img?ro,latency_us:10   an emulated device in a file
//
// `=` and `;` can't be part of the options: inside an option string of RocksDB they would end ours early.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace zenfs {

using DeviceOptions = std::vector<std::pair<std::string, std::string>>;

struct DeviceUri {
  std::string kind;       // "dev", "zonefs", "uuid", "emu"
  std::string target;     // what stands behind the colon, never empty
  DeviceOptions options;  // in the order given, no key twice; a bare key has the value ""
};

// Errors: kInvalidArgument, each with the accepted form.
[[nodiscard]] Result<DeviceUri> ParseDeviceUri(std::string_view text);

// The same text for every spelling of one device, without options: "dev:/dev/nvme0n1", "zonefs:/mnt/z",
// "emu:/absolute/path", symbolic links resolved; a uuid in lower case. Where the path does not exist, only made absolute.
[[nodiscard]] std::string Canonical(const DeviceUri& uri);

}  // namespace zenfs
