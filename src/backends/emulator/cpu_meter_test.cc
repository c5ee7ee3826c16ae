#include "backends/emulator/cpu_meter.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

// Runs until the thread has used that much CPU time.
void UseCpu(std::uint64_t nanoseconds) {
  const std::uint64_t start = ThreadCpuNanoseconds();
  while (ThreadCpuNanoseconds() - start < nanoseconds) {
  }
}

TEST(CpuMeterTest, LongSpansAreAllMetered) {
  CpuMeter meter;
  for (int i = 0; i < 3; ++i) {
    const CpuMeter::Span span(meter, /*ends_soon=*/false);
    UseCpu(100'000);
  }
  EXPECT_EQ(meter.spans(), 3u);
  EXPECT_GE(meter.nanoseconds(), 300'000u);
}

TEST(CpuMeterTest, SampledSpansCountForAll) {
  constexpr std::uint64_t kSpans = 20'000;
  CpuMeter meter;
  const std::uint64_t before = ThreadCpuNanoseconds();
  for (std::uint64_t i = 0; i < kSpans; ++i) {
    const CpuMeter::Span span(meter, /*ends_soon=*/true);
    UseCpu(2'000);
  }
  const std::uint64_t used = ThreadCpuNanoseconds() - before;
  // Six standard deviations of the binomial distribution, about a sixth of the mean.
  EXPECT_NEAR(static_cast<double>(meter.spans()), kSpans / CpuMeter::kSampled, 210);
  EXPECT_NEAR(static_cast<double>(meter.nanoseconds()), static_cast<double>(used),
              0.25 * static_cast<double>(used));
}

}  // namespace
}  // namespace zenfs
