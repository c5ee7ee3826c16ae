// One operation, cut off after each of its device commands, with every subset of what was not flushed by then.
//
// The operation is small, so that the images of a cut can be enumerated (CrashDevice::EnumerateImages): which of the
// unflushed commands happened, which blocks of them are missing and what stands there instead, where write pointers
// are left, for each zone on its own.
//
// Threads: none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify.h"
#include "workloads.h"

namespace zenfs {

struct CutOperation {
  std::string name;
  Workload before;  // carried out whole and flushed
  Workload work;    // cut off
};

struct SubsetCount {
  std::uint64_t cuts = 0;
  std::uint64_t complete = 0;  // cuts of which every image was looked at
  std::uint64_t images = 0;
  std::string error;  // empty if all is well; else which cut and image, and what is wrong with it

  std::string ToString() const;
};

// Images of one cut beyond `limit` are sampled.
[[nodiscard]] SubsetCount VerifyEverySubset(const EmulatorGeometry& geometry, const CutOperation& operation,
                                            std::size_t limit);

// Images that are looked at for one cut before they are sampled.
[[nodiscard]] std::size_t ImagesOfACut();

// Waits until `condition` holds, for what the volume does in the background, or the power is lost. False after half a
// minute.
[[nodiscard]] bool Await(WorkloadRun& run, const std::function<bool()>& condition);

}  // namespace zenfs
