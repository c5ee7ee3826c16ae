// The devices there are, as a table for people and as JSON. Pure.
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

// One line a device under a line of titles; a block of lines a device where that is wider than `columns`. Then what is to
// be known of single devices, a line each. `release` is the kernel's.
[[nodiscard]] std::string DeviceTable(const std::vector<SeenDevice>& devices, const std::string& release,
                                      int columns);

// What somebody who has just started would type now; one line.
[[nodiscard]] std::string NextStep(const std::vector<SeenDevice>& devices);

[[nodiscard]] Json DeviceJson(const SeenDevice& device, const std::string& release);

}  // namespace zenfs
