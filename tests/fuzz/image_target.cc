// Whole volumes: a valid image is changed (image_mutation.h), checked, mounted read-only and read-write, read, written,
// and checked again (volume_workout.h).
//
//   u8 shape, u8 age, u8 what is left out, mutations
#include "image_input.h"
#include "simulated.h"
#include "volume_workout.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  ImageInput picked(input);
  const auto mode = input.Take<std::uint8_t>();
  ImageDevice& device = picked.Load();
  RunSimulated([&] { VolumeWorkout(device).Run(mode); });
  return 0;
}
