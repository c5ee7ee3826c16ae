// What targets of whole volumes do with one: it is checked, mounted read-only and read, mounted read-write and written, and
// checked again. Of a volume that the check called clean all that was read must still be there.
#pragma once

#include <optional>

#include "image_device.h"
#include "volume_look.h"

namespace zenfs {

class VolumeWorkout {
 public:
  enum Mode : std::uint8_t { kSkipReader = 1, kSkipWriter = 2 };

  // In a simulated thread (simulated.h). The device outlives it.
  explicit VolumeWorkout(ImageDevice& device) : device_(device) {}

  void Run(std::uint8_t mode);

 private:
  std::string Damage();
  void Read();
  // Whether there is anything to look at afterwards.
  bool Change();
  void CheckWritten();

  ImageDevice& device_;
  bool clean_ = false;
  bool written_ = false;
  std::optional<VolumeContents> before_;  // of a read-only mount that succeeded
};

}  // namespace zenfs
