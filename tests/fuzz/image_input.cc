#include "image_input.h"

#include <map>

#include "image_mutation.h"

namespace zenfs {

ImageInput::ImageInput(FuzzInput& input)
    : input_(input),
      shape_(input.Take<std::uint8_t>() % ImageBases().size()),
      base_(ImageBases()[shape_]),
      age_(base_.ages[input.Take<std::uint8_t>() % base_.ages.size()]) {}

ImageDevice& ImageInput::Load() {
  static std::map<std::size_t, ImageDevice> devices;
  ImageDevice::Image image = age_.image;
  Mutate(base_, age_, input_, image);
  ImageDevice& device =
      devices.try_emplace(shape_, base_.geometry, OpenMode::kExclusive, "", base_.log_device).first->second;
  device.Load(image);
  return device;
}

}  // namespace zenfs
