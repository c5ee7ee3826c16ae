// The valid volumes that the target `image` mutates: tiny devices of several shapes, each at several ages, made by the
// production code when the process begins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "format/superblock.h"
#include "image_device.h"
#include "model/edit.h"

namespace zenfs {

// A volume at some moment of its life.
struct ImageAge {
  ImageDevice::Image image;
  std::map<ZoneId, LogZone> log_zones;  // what frames in them are sealed with
};

struct ImageBase {
  EmulatorGeometry geometry;
  Superblock superblock;
  std::vector<ImageAge> ages;
};

// The same in every process. The first call must not come from within a simulated thread.
const std::vector<ImageBase>& ImageBases();

}  // namespace zenfs
