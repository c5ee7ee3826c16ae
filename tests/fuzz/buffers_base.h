// A small volume whose process died with bytes in its append buffers. The target `buffers` gives it
// other buffers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "format/buffer_area_layout.h"
#include "image_device.h"
#include "model/state.h"
#include "volume_look.h"

namespace zenfs {

struct BuffersBase {
  EmulatorGeometry geometry;
  std::string path;         // of its buffer file, which does not exist
  BufferAreaHeader header;  // the header of that file
  ImageDevice::Image image;
  State state;
  std::map<FileId, std::string> paths;  // of all files, as in VolumeContents
  std::map<FileId, std::uint64_t> sizes;
  VolumeContents synced;  // without the bytes in the buffers
};

// Makes the device, with an identity that all processes of this target share and no other process
// has.
[[nodiscard]] ImageDevice MakeBuffersDevice();

// The first call must not be made in a simulated thread.
[[nodiscard]] const BuffersBase& TheBuffersBase();

}  // namespace zenfs
