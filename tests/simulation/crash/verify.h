// Checks a device after a crash.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "expectation.h"
#include "testing/crash_device.h"
#include "volume/fsck/check_volume.h"
#include "volume/fsck/scrub.h"
#include "volume/mkfs.h"

namespace zenfs {

// The devices of these calls may be split (testing/split_device.h): then the volume is on its two parts.
[[nodiscard]] Result<std::shared_ptr<Volume>> MountBorrowed(ZonedDevice& device,
                                                            const MountOptions& options = {});
// A read-only mount.
[[nodiscard]] Result<std::shared_ptr<Volume>> MountReader(ZonedDevice& device);
[[nodiscard]] Result<CheckReport> CheckBorrowed(ZonedDevice& device);
[[nodiscard]] Result<ScrubReport> ScrubBorrowed(ZonedDevice& device);
[[nodiscard]] Result<FormatReport> FormatBorrowed(ZonedDevice& device);
[[nodiscard]] Status Mkfs(ZonedDevice& device);

// Empty if `image` is well, otherwise the error. Checks that the volume mounts, that each of
// `expected` allows its contents, that the check finds no error, and that these contents, and data
// written and synced later, survive another power loss.
[[nodiscard]] std::string Verify(const CrashDevice& device, LossPolicy loss,
                                 const std::vector<const Expectation*>& expected);
// The same for an image that already exists; changes it.
[[nodiscard]] std::string VerifyImage(CrashDevice& image, CrashKind kind,
                                      const std::vector<const Expectation*>& expected);

struct VerifyOptions {
  MountOptions mount;           // of the first mount
  bool allow_notices = false;   // zones went bad, so a mount may have notices
  bool allow_no_space = false;  // zones went bad or were ended early
  bool allow_no_mount = false;  // a mount may find no space for flushed bytes, or for frames of sync blocks
  bool frees = false;           // deleting everything gives the space back
  bool allow_full = false;      // the device is full: the mount succeeds, a write may fail
  bool allow_unsummed = false;  // reads failed, perhaps of bytes that a truncation cut off
};
[[nodiscard]] std::string VerifyImage(CrashDevice& image, CrashKind kind,
                                      const std::vector<const Expectation*>& expected,
                                      const VerifyOptions& options);

// True if flushed bytes are only in shared memory, because the device has no room for them.
[[nodiscard]] bool BytesWait(const Volume& volume);
// What `image` holds without shared memory. Changes it. `options`: of the mount.
[[nodiscard]] Result<FoundTree> FindDurable(CrashDevice& image, const MountOptions& options);

// The loss policies for each crash: all, nothing, and `random` seeds.
[[nodiscard]] std::vector<LossPolicy> Losses(std::uint64_t seed, int random);
[[nodiscard]] std::string Describe(LossPolicy loss);

// Empty if each of `expected` allows its part of `found`.
[[nodiscard]] std::string WhyNotAny(const FoundTree& found, CrashKind kind,
                                    const std::vector<const Expectation*>& expected);

// The first error that CheckVolume finds in `image`; empty if there is none. `allow_damaged_buffers`: damage of shared memory
// is none, because the next mount discards it. `allow_offline`: nor is an offline log zone, because zones died.
[[nodiscard]] std::string FirstCheckError(ZonedDevice& image, bool allow_damaged_buffers = false,
                                          bool allow_offline = false);
// The first damage that a scrub finds; "" if none. Without `allow_unsummed`, bytes without a
// checksum also count as damage.
[[nodiscard]] std::string FirstScrubError(ZonedDevice& image, bool allow_unsummed);

// True if the environment asks for every case instead of a sample (ZENFS_FULL=1).
[[nodiscard]] bool FullRun();

}  // namespace zenfs
