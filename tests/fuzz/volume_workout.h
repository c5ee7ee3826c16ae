// The work of targets of whole volumes: checks the volume, mounts it read-only and reads, mounts it
// read-write and writes, and checks again. If the check found the volume clean, everything that was
// read must still be there.
#pragma once

#include <optional>

#include "image_device.h"
#include "volume_look.h"

namespace zenfs {

class VolumeWorkout {
 public:
  enum Mode : std::uint8_t { kSkipReader = 1, kSkipWriter = 2 };

  // Runs in a simulated thread (simulated.h). `device` must outlive it.
  explicit VolumeWorkout(ImageDevice& device) : device_(device) {}

  void Run(std::uint8_t mode);

 private:
  std::string Damage();
  void Read();
  // True if there is anything to check afterwards.
  bool Change();
  void CheckWritten();

  ImageDevice& device_;
  bool clean_ = false;
  bool written_ = false;
  std::optional<VolumeContents> before_;  // read by a successful read-only mount
};

}  // namespace zenfs
