// Measures the CPU time of the callers' threads inside an emulated device.
//
// Asking the kernel for a thread's CPU time costs more than a small read of the device. Short
// commands are therefore sampled: one of kSampled is measured and counts for all. The choice is
// random, so that no pattern of commands avoids the sample.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace zenfs {

class CpuMeter {
 public:
  static constexpr std::uint64_t kSampled = 16;

  // Measures from its construction to its end. The meter must outlive it.
  class Span {
   public:
    Span(CpuMeter& meter, bool ends_soon) : meter_(meter), weight_(ends_soon ? SampledWeight() : 1) {
      if (weight_ != 0) start_ = ThreadCpuNanoseconds();
    }
    ~Span() {
      if (weight_ == 0) return;
      meter_.nanoseconds_ += weight_ * (ThreadCpuNanoseconds() - start_);
      ++meter_.spans_;
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    static std::uint64_t SampledWeight() {
      static thread_local Random random(kSampled);
      return random.OneIn(kSampled) ? kSampled : 0;
    }

    CpuMeter& meter_;
    const std::uint64_t weight_;
    std::uint64_t start_ = 0;
  };

  std::uint64_t nanoseconds() const { return nanoseconds_.load(); }
  // The number of measured spans.
  std::uint64_t spans() const { return spans_.load(); }

 private:
  std::atomic<std::uint64_t> nanoseconds_{0};
  std::atomic<std::uint64_t> spans_{0};
};

}  // namespace zenfs
