// A list of devices in one environment variable, as PATH is one: paths, emu:PATH and zenfs://emu:PATH, with ':'
// between them. As in PATH, no path in it can contain a ':'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zenfs {

// The devices as they were written; empty parts are passed over.
[[nodiscard]] std::vector<std::string> SplitDeviceList(std::string_view list);

}  // namespace zenfs
