// Copies of devices that were made at different times are mounted together, or beside their original. A mount may refuse them
// with an error, or report the loss; synced bytes never vanish without a word.
//
// Threads: those of a SimScheduler.
#pragma once

#include <string>

#include "crash/verify.h"

namespace zenfs {

struct CopyCheck {
  MountOptions mount;
  std::vector<const Expectation*> expected;  // of the present devices
};

// A main device and a log device of different times. `what`: for the message.
[[nodiscard]] std::string WhyNotOfDifferentTimes(const CrashDevice& main, const CrashDevice& logs,
                                                 const CopyCheck& check, const std::string& what);
// A copy of the main device is mounted with the log device of the original, and written; then the original is mounted.
[[nodiscard]] std::string WhyNotBesideOriginal(const CrashDevice& device, const CopyCheck& check);

}  // namespace zenfs
