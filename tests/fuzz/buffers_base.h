// A small volume whose process died with bytes in its append buffers: what the target `buffers` puts other buffers beside.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "format/staging_layout.h"
#include "image_device.h"
#include "model/state.h"
#include "volume_look.h"

namespace zenfs {

struct BuffersBase {
  EmulatorGeometry geometry;
  std::string path;      // of the file of its buffers, which is not there
  StagingHeader header;  // as it stood in that file
  ImageDevice::Image image;
  State state;
  std::map<FileId, std::string> paths;  // of all files, as VolumeContents has them
  std::map<FileId, std::uint64_t> sizes;
  VolumeContents synced;  // without what was in the buffers
};

// A name that the device has in all processes of this target, and in no other.
[[nodiscard]] ImageDevice MakeBuffersDevice();

// The first call must not come from within a simulated thread.
[[nodiscard]] const BuffersBase& TheBuffersBase();

}  // namespace zenfs
