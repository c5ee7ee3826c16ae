// Runs a load on an emulated device, through the interface of every device, in real time.
//
// One thread keeps all reads, writes and appends in flight through a queue; resets and finishes come from another one. So
// the figures are right as far as the host gives two processors and is quick enough with the data.
#pragma once

#include <memory>
#include <string>

#include "backends/emulator/emulator.h"
#include "experiment.h"

namespace zenfs {

class DeviceDriver final : public Driver {
 public:
  // Makes its devices as a sparse file in `directory`, which should be a tmpfs. Throws nothing and ends the program if
  // that can't be done: there is nothing to measure then.
  explicit DeviceDriver(std::string directory);
  ~DeviceDriver() override;

  LoadOutcome Run(const Experiment& experiment, double seconds) override;
  // The median of closes on a device without a timing profile.
  double HostMicroseconds() override;

  // CPU time that the last run's device took, of its length.
  double cpu_share() const { return cpu_share_; }

 private:
  // A new device with these zones in it, the others empty.
  std::unique_ptr<EmulatorDevice> Make(const Experiment& experiment) const;

  const std::string path_;
  double cpu_share_ = 0;
};

}  // namespace zenfs
