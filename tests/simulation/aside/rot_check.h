// Flips a bit of live data at rest, then lets everything run that reads bytes to write them again: the mover, the cleaner of log
// zones, appends to a reopened file, truncations, backups.
//
// The right results: an error that names the file, or a finding of a scrub at the rotten byte. Wrong are: rotten bytes that
// have a fitting checksum afterwards, an intact byte that is blamed, and a backup that succeeds with rotten bytes. Plain reads
// do not verify checksums, so they may return the rotten byte.
//
// Threads: those of a SimScheduler.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "crash/verify.h"

namespace zenfs {

enum class RotAct { kMove, kClean, kReopen, kTruncate, kBackUp };

// Changes `image`. `acts`: those that may be drawn. `options`: those of the mount after the crash.
[[nodiscard]] std::string WhyNotFoundRotten(CrashDevice& image, const MountOptions& options,
                                            const std::vector<RotAct>& acts, Random& random);

}  // namespace zenfs
