// What the inputs of targets of whole volumes begin and end with: which volume, and what is changed of it.
//
//   u8 shape, u8 age, what the target does, mutations (image_mutation.h)
#pragma once

#include "image_bases.h"
#include "image_device.h"
#include "input.h"

namespace zenfs {

class ImageInput {
 public:
  // Takes shape and age.
  explicit ImageInput(FuzzInput& input);

  // Takes all the rest. The device is the same for all inputs of that shape.
  ImageDevice& Load();

 private:
  FuzzInput& input_;
  const std::size_t shape_;
  const ImageBase& base_;
  const ImageAge& age_;
};

}  // namespace zenfs
