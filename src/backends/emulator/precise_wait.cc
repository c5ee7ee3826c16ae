#include "backends/emulator/precise_wait.h"

#include "base/scheduler.h"

namespace zenfs {
namespace {

// A sleep ends late by the kernel's timer slack (50 us unless the process chose another) and the switch back.
constexpr std::chrono::microseconds kSleepIsLateBy{80};

}  // namespace

void WaitPrecisely(SteadyTime when) {
  if (Scheduler::Installed() != nullptr) {  // its time passes only in waits: spinning would never end
    SleepUntil(when);
    return;
  }
  if (SteadyNow() + kSleepIsLateBy < when) SleepUntil(when - kSleepIsLateBy);
  while (SteadyNow() < when) {
  }
}

}  // namespace zenfs
