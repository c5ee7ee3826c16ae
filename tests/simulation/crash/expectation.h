// What must be found under a directory after a crash.
#pragma once

#include <string>

#include "found.h"

namespace zenfs {

enum class CrashKind {
  kPowerLost,    // what is not flushed may be gone
  kProcessDied,  // everything that was sent to the device is there
};

class Expectation {
 public:
  virtual ~Expectation() = default;

  // The directory that this speaks of; "" for the whole volume.
  virtual const std::string& root() const = 0;
  // Empty if `found` is allowed, else why not. `found` holds what is under root(), with itself, and nothing else.
  virtual std::string WhyNot(const FoundTree& found, CrashKind kind) const = 0;
};

}  // namespace zenfs
