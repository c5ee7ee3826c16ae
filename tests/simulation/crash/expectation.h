// The contents of a directory that are allowed after a crash.
#pragma once

#include <string>

#include "found.h"

namespace zenfs {

enum class CrashKind {
  kPowerLost,    // unflushed data may be lost
  kProcessDied,  // everything sent to the device is kept
};

class Expectation {
 public:
  virtual ~Expectation() = default;

  // The directory of this expectation; "" for the whole volume.
  virtual const std::string& root() const = 0;
  // Empty if `found` is allowed, otherwise the reason. `found` has the entries under root() and
  // root() itself, nothing else.
  virtual std::string WhyNot(const FoundTree& found, CrashKind kind) const = 0;
};

}  // namespace zenfs
