// One operation, cut off after each of its device commands, with every subset of the unflushed
// data.
//
// The operation is small, so that all images of a cut can be enumerated
// (CrashDevice::EnumerateImages): which unflushed commands happened, which of their blocks are lost
// and what is there instead, and where write pointers are, for each zone separately.
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
  Workload before;  // executed completely and flushed
  Workload work;    // cut off
};

struct SubsetCount {
  std::uint64_t cuts = 0;
  std::uint64_t complete = 0;  // cuts with every image checked
  std::uint64_t images = 0;
  std::string error;  // empty if all is well; otherwise cut, image and error

  std::string ToString() const;
};

// If a cut has more than `limit` images, a sample is checked.
[[nodiscard]] SubsetCount VerifyEverySubset(const EmulatorGeometry& geometry, const CutOperation& operation,
                                            std::size_t limit);

// The number of images of one cut above which a sample is checked.
[[nodiscard]] std::size_t ImagesOfACut();

// Waits for background work until `condition` holds or the power is lost. Returns false after half
// a minute.
[[nodiscard]] bool Await(WorkloadRun& run, const std::function<bool()>& condition);

}  // namespace zenfs
