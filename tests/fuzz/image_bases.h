// The valid volumes that the target `image` mutates: tiny devices of several shapes, each at
// several ages. The production code makes them when the process starts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "format/superblock.h"
#include "image_device.h"
#include "model/edit.h"

namespace zenfs {

// A volume at one moment.
struct ImageAge {
  ImageDevice::Image image;
  std::map<ZoneId, LogZone> log_zones;  // their frames are sealed with these
};

struct ImageBase {
  EmulatorGeometry geometry;
  ImageLogDevice log_device;
  Superblock superblock;  // of the main device
  std::vector<ImageAge> ages;
};

// The same in every process: those of one device, then those of two. The first call must not be made in a simulated thread.
const std::vector<ImageBase>& ImageBases();
[[nodiscard]] std::size_t SingleImageBases();

}  // namespace zenfs
