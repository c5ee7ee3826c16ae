#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "metrics/metrics.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs {
namespace {

LatencyHistogram HistogramOf(const std::vector<std::uint64_t>& nanoseconds) {
  Metrics metrics;
  for (const std::uint64_t n : nanoseconds) metrics.Time(Operation::kRead, std::chrono::nanoseconds(n));
  return (*DecodeMetrics(metrics.page()))[Operation::kRead].latency;
}

TEST(LatencyBuckets, EachBeginsWhereTheOneBeforeEnds) {
  for (std::size_t b = 0; b < kLatencyBuckets; ++b) {
    EXPECT_LT(LatencyBucketStart(b), LatencyBucketStart(b + 1));
    EXPECT_EQ(LatencyBucketOf(LatencyBucketStart(b)), b);
    EXPECT_EQ(LatencyBucketOf(LatencyBucketStart(b + 1) - 1), b);
  }
}

RC_GTEST_PROP(LatencyBuckets, TheMiddleIsWithinAnEighthOfEveryValue, ()) {
  const auto exponent = *rc::gen::inRange(5, 36);
  const auto value = *rc::gen::inRange(std::uint64_t{1} << exponent, std::uint64_t{2} << exponent);
  RC_PRE(value < kLatencyLimit);
  const std::size_t bucket = LatencyBucketOf(value);
  const double middle = static_cast<double>(LatencyBucketStart(bucket) + LatencyBucketStart(bucket + 1)) / 2;
  RC_ASSERT(std::abs(middle - static_cast<double>(value)) <= static_cast<double>(value) / 8);
}

RC_GTEST_PROP(LatencyHistogram, QuantilesAreWithinAnEighthOfTheTrueOnes, ()) {
  auto values = *rc::gen::nonEmpty<std::vector<std::uint64_t>>(rc::gen::container<std::vector<std::uint64_t>>(
      rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 30), rc::gen::inRange(64, 128)),
                   [](const auto& p) { return std::uint64_t(p.second) << p.first; })));
  RC_PRE(!values.empty());
  const LatencyHistogram histogram = HistogramOf(values);
  std::sort(values.begin(), values.end());
  for (const double q : {0.0, 0.5, 0.99, 0.999, 1.0}) {
    const auto rank =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size()))));
    const auto wanted = static_cast<double>(std::min(values[rank - 1], kLatencyLimit - 1));
    const auto got = static_cast<double>(histogram.Quantile(q));
    if (values[rank - 1] < LatencyBucketStart(kLatencyBuckets - 1)) {
      RC_ASSERT(std::abs(got - wanted) <= wanted / 8);
    }
    RC_ASSERT(histogram.Quantile(q) <= values.back());
  }
}

TEST(LatencyHistogram, CountSumAndMaxAreExact) {
  const LatencyHistogram histogram = HistogramOf({100, 5'000, 5'001, 200'000'000'000});
  EXPECT_EQ(histogram.count, 4u);
  EXPECT_EQ(histogram.sum, 200'000'010'101u);
  EXPECT_EQ(histogram.max, 200'000'000'000u);
  EXPECT_EQ(histogram.Quantile(1.0), 200'000'000'000u)
      << "beyond the last bucket the maximum is what is known";
}

TEST(LatencyHistogram, EmptyHasNoQuantiles) { EXPECT_EQ(LatencyHistogram().Quantile(0.99), 0u); }

TEST(LatencyHistogram, AClockThatWentBackCountsAsZero) {
  Metrics metrics;
  metrics.Time(Operation::kRead, std::chrono::nanoseconds(-5));
  const LatencyHistogram histogram = (*DecodeMetrics(metrics.page()))[Operation::kRead].latency;
  EXPECT_EQ(histogram.sum, 0u);
  EXPECT_EQ(histogram.buckets[0], 1u);
}

}  // namespace
}  // namespace zenfs
