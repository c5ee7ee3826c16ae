// What is done with a device after a crash.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "expectation.h"
#include "testing/crash_device.h"

namespace zenfs {

[[nodiscard]] Result<std::shared_ptr<Volume>> MountBorrowed(ZonedDevice& device,
                                                            const MountOptions& options = {});
[[nodiscard]] Status Mkfs(ZonedDevice& device);

// Empty if all is well with what was found on `image`, else what is wrong:
//   the volume mounts; what it shows is allowed by each of `expected`; the check finds no error; what it showed
//   stays so when power is lost again, and so does what is written and synced in between.
[[nodiscard]] std::string Verify(const CrashDevice& device, LossPolicy loss,
                                 const std::vector<const Expectation*>& expected);
// The same for an image that was made already; it is used up.
[[nodiscard]] std::string VerifyImage(CrashDevice& image, CrashKind kind,
                                      const std::vector<const Expectation*>& expected);

struct VerifyOptions {
  MountOptions mount;           // of the first mount
  bool allow_notices = false;   // zones went bad, which a mount may tell of
  bool allow_no_space = false;  // zones went bad or were left early
  bool allow_full = false;      // the clients kept the device full: the mount succeeds, a write may not
  bool allow_unsummed = false;  // reads failed, perhaps of what a truncation cut off
};
[[nodiscard]] std::string VerifyImage(CrashDevice& image, CrashKind kind,
                                      const std::vector<const Expectation*>& expected,
                                      const VerifyOptions& options);

// The loss policies that each crash is looked at with: all, nothing, and `random` seeds.
[[nodiscard]] std::vector<LossPolicy> Losses(std::uint64_t seed, int random);
[[nodiscard]] std::string Describe(LossPolicy loss);

// What is the first error in `image`, by CheckVolume; empty if there is none.
[[nodiscard]] std::string FirstCheckError(ZonedDevice& image);
// The first damage that a scrub finds; unless `allow_unsummed`, also that it could not find all, because bytes of files
// have no checksum. Or "".
[[nodiscard]] std::string FirstScrubError(ZonedDevice& image, bool allow_unsummed);

// True when the environment asks for every case instead of a sample (ZENFS_FULL=1).
[[nodiscard]] bool FullRun();

}  // namespace zenfs
