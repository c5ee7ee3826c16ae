// Files of one size that are overwritten as a whole: a new file is written, then the old one is deleted.
//
//   uniform   each file is as likely as any other, and has no lifetime
//   zipf      a few files are overwritten most often (theta 0.99); the lifetime of a file is its class: the classes short, medium,
//             long and extreme get a quarter of all overwrites each
//
// Begins by writing all files once.
#pragma once

#include <vector>

#include "base/random.h"
#include "workload.h"
#include "workload_events.h"

namespace zenfs::space {

// Draws numbers from [0, count) with the probability of a Zipf distribution, 0 most often (Gray et al., "Quickly generating
// billion-record synthetic databases", 1994).
class ZipfNumbers {
 public:
  ZipfNumbers(std::uint64_t count, double theta);
  std::uint64_t Draw(Random& random) const;
  // The probability of a number below `number`.
  double ShareBelow(std::uint64_t number) const;

 private:
  const std::uint64_t count_;
  const double theta_;
  double zeta_ = 0;
  double zeta2_ = 0;
  double eta_ = 0;
};

class Overwrites final : public WorkloadEvents {
 public:
  enum class Pattern { kUniform, kZipf };
  Overwrites(Pattern pattern, const WorkloadOptions& options);

 private:
  struct Writer {
    bool busy = false;
    std::size_t slot = 0;
    FileId file;
    std::uint64_t size = 0;
  };
  struct Slot {
    FileId file;  // 0: not written yet
    Lifetime lifetime = Lifetime::kNotSet;
    bool busy = false;
  };

  void Step() override;
  void Begin(Writer& writer);
  void End(Writer& writer);
  std::size_t NextSlot();

  const WorkloadOptions options_;
  const Pattern pattern_;
  Random random_;
  std::vector<Slot> slots_;
  ZipfNumbers zipf_;
  std::vector<std::size_t> order_;  // from the rank in the Zipf distribution to the slot
  std::vector<Writer> writers_;
  std::size_t filled_ = 0;  // slots that were written for the first time
};

}  // namespace zenfs::space
