// Whole volumes: changes a valid image (image_mutation.h), checks it, mounts it read-only and
// read-write, reads, writes, and checks it again (volume_workout.h).
//
//    u8 shape, u8 age, u8 steps to leave out, mutations
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
