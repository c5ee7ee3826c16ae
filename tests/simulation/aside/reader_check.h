// Reads a volume between a crash and the next read-write mount: through a read-only mount and by a backup.
//
// Threads: those of a SimScheduler.
#pragma once

#include <string>
#include <vector>

#include "crash/expectation.h"
#include "testing/crash_device.h"

namespace zenfs {

struct ReaderCheck {
  CrashKind kind = CrashKind::kPowerLost;  // what the readers must show
  std::vector<const Expectation*> expected;
  bool backs_up = false;
};

// Empty if readers show what is expected and change nothing, and a backup has what they show.
[[nodiscard]] std::string WhyNotRead(CrashDevice& image, const ReaderCheck& check);

struct BackupResult {
  std::string wrong;   // a file in the backup that differs; empty if there is none
  std::string failed;  // the error of the backup; empty if it succeeded
};
// Makes a backup of `volume`, whose files are `found`, compares it and removes it.
[[nodiscard]] BackupResult CompareBackup(Volume& volume, const FoundTree& found);

}  // namespace zenfs
