// Runs a load on the model alone, in virtual time: exact, and as fast as the model is computed.
#pragma once

#include "experiment.h"

namespace zenfs {

class VirtualDriver final : public Driver {
 public:
  explicit VirtualDriver(std::uint64_t seed) : seed_(seed) {}
  LoadOutcome Run(const Experiment& experiment, double seconds) override;

 private:
  const std::uint64_t seed_;
};

}  // namespace zenfs
