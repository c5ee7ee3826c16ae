// How a person names a device:  [zenfs://]KIND:TARGET[?KEY[:VALUE][,KEY[:VALUE]...]]
//
//   zenfs://emu:/var/tmp/a.img?ro,latency_us:10
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
  std::string kind;       // "emu"
  std::string target;     // for emu the path of the file
  DeviceOptions options;  // in the order given, no key twice; a bare key has the value ""
};

// Errors: kNotSupported for a kind of device that this build can't open, kInvalidArgument for all else, each
// with the accepted form.
[[nodiscard]] Result<DeviceUri> ParseDeviceUri(std::string_view text);

// The same text for every spelling of one device: "emu:/absolute/path", symbolic links resolved; without
// options. Where the path does not exist, only made absolute.
[[nodiscard]] std::string Canonical(const DeviceUri& uri);

}  // namespace zenfs
