// The common parts of inputs for targets of whole volumes: the volume at the beginning, and its
// changes at the end.
//
//    u8 shape, u8 age, fields of the target, mutations (image_mutation.h)
#pragma once

#include "image_bases.h"
#include "image_device.h"
#include "input.h"

namespace zenfs {

class ImageInput {
 public:
  // Reads shape and age.
  explicit ImageInput(FuzzInput& input);

  // Reads the rest of the input. Returns the same device for all inputs of a shape.
  ImageDevice& Load();

 private:
  FuzzInput& input_;
  const std::size_t shape_;
  const ImageBase& base_;
  const ImageAge& age_;
};

}  // namespace zenfs
