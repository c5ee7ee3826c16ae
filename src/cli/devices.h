// The list of devices that `zenfs devices` shows, as a table for people and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "discovery/contents.h"

namespace zenfs {

struct SeenDevice {
  KnownDevice known;
  DeviceLook look;
};

// One line per device below a line of titles. If that is wider than `columns`, a block of lines per
// device. Notes about single devices follow, one line each. `release`: version of the kernel.
[[nodiscard]] std::string DeviceTable(const std::vector<SeenDevice>& devices, const std::string& release,
                                      int columns);

// A suggestion of the next command for a new user; one line.
[[nodiscard]] std::string NextStep(const std::vector<SeenDevice>& devices);

[[nodiscard]] Json DeviceJson(const SeenDevice& device, const std::string& release);

}  // namespace zenfs
