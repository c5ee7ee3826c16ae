#include "metrics/metrics_page.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/aligned_buffer.h"
#include "metrics/metrics.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs {
namespace {

class MetricsPageTest : public testing::Test {
 protected:
  MetricsPageTest() { metrics_.MoveTo(Memory()); }

  ByteSpan Memory() { return {reinterpret_cast<std::byte*>(&page_), kMetricsPageBytes}; }
  Result<MetricsSnapshot> Decoded() { return DecodeMetrics(Memory()); }
  Code Refusal() {
    const auto decoded = Decoded();
    EXPECT_FALSE(decoded.has_value());
    return decoded ? Code::kIo : decoded.error().code();
  }
  MetricsHeader& header() { return reinterpret_cast<MetricsPage*>(&page_)->header; }

  alignas(4096) std::array<std::byte, kMetricsPageBytes> page_{};
  Metrics metrics_;
};

TEST_F(MetricsPageTest, AReaderSeesWhatIsCounted) {
  metrics_.Count(Operation::kRead);
  metrics_.CountBytes(Operation::kRead, 4096);
  metrics_.CountError(Operation::kZoneReset);
  metrics_.Set(Value::kEpoch, 7);
  metrics_.Change(Value::kOpenFiles, 3);
  metrics_.Change(Value::kOpenFiles, -1);
  metrics_.RaiseTo(Value::kDataBytes, 9);
  metrics_.RaiseTo(Value::kDataBytes, 5);
  const auto snapshot = Decoded();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ((*snapshot)[Operation::kRead].count, 1u);
  EXPECT_EQ((*snapshot)[Operation::kRead].bytes, 4096u);
  EXPECT_EQ((*snapshot)[Operation::kZoneReset].errors, 1u);
  EXPECT_EQ((*snapshot)[Value::kEpoch], 7u);
  EXPECT_EQ((*snapshot)[Value::kOpenFiles], 2u);
  EXPECT_EQ((*snapshot)[Value::kDataBytes], 9u);
}

TEST_F(MetricsPageTest, MovingKeepsTheCounts) {
  Metrics metrics;
  metrics.Count(Operation::kOpen);
  metrics.MoveTo(Memory());
  metrics.Count(Operation::kOpen);
  EXPECT_EQ((*Decoded())[Operation::kOpen].count, 2u);
  metrics.MoveHome();
  metrics.Count(Operation::kOpen);
  EXPECT_EQ((*Decoded())[Operation::kOpen].count, 2u) << "the page is left as it was";
  EXPECT_EQ((*DecodeMetrics(metrics.page()))[Operation::kOpen].count, 3u);
}

TEST_F(MetricsPageTest, AForeignPageIsRefused) {
  std::memset(page_.data(), 0, page_.size());
  EXPECT_EQ(Refusal(), Code::kCorruption);
  std::memset(page_.data(), 0xff, page_.size());
  EXPECT_EQ(Refusal(), Code::kCorruption);
}

TEST_F(MetricsPageTest, AShortPageIsRefused) {
  const auto decoded = DecodeMetrics(ByteView(Memory()).first(kMetricsPageBytes - 4096));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), Code::kCorruption);
  EXPECT_EQ(DecodeMetrics({}).error().code(), Code::kCorruption);
}

TEST_F(MetricsPageTest, AnotherVersionIsRefusedAndSaysSo) {
  ++header().version;
  EXPECT_EQ(Refusal(), Code::kNotSupported);
  --header().version;
  EXPECT_TRUE(Decoded());
  header().fingerprint ^= 1;
  EXPECT_EQ(Refusal(), Code::kNotSupported);
}

TEST_F(MetricsPageTest, SizesThatContradictThePageAreRefused) {
  for (std::uint32_t MetricsHeader::* field :
       {&MetricsHeader::page_bytes, &MetricsHeader::operations, &MetricsHeader::values,
        &MetricsHeader::shards, &MetricsHeader::buckets}) {
    header().*field += 1;
    EXPECT_EQ(Refusal(), Code::kCorruption);
    header().*field -= 1;
  }
  EXPECT_TRUE(Decoded());
}

TEST_F(MetricsPageTest, RandomCellsDoNotHurtTheReader) {
  std::memset(page_.data() + sizeof(MetricsHeader), 0xff, page_.size() - sizeof(MetricsHeader));
  const auto snapshot = Decoded();
  ASSERT_TRUE(snapshot);
  const LatencyHistogram& latency = (*snapshot)[Operation::kWalSync].latency;
  for (const double q : {0.0, 0.5, 0.99, 1.0}) EXPECT_LE(latency.Quantile(q), latency.max);
}

TEST_F(MetricsPageTest, ADifferenceIsWhatHappenedMeanwhile) {
  metrics_.Count(Operation::kRead);
  metrics_.Time(Operation::kRead, std::chrono::nanoseconds(100));
  metrics_.Set(Value::kEpoch, 4);
  const auto before = Decoded();
  metrics_.Count(Operation::kRead);
  metrics_.Time(Operation::kRead, std::chrono::nanoseconds(1000));
  metrics_.RaiseTo(Value::kWalBytes, 50);
  const MetricsSnapshot difference = Difference(*Decoded(), *before);
  EXPECT_EQ(difference[Operation::kRead].count, 1u);
  EXPECT_EQ(difference[Operation::kRead].latency.count, 1u);
  EXPECT_EQ(difference[Operation::kRead].latency.sum, 1000u);
  EXPECT_EQ(Difference(*before, MetricsSnapshot())[Operation::kRead].latency.max, 100u);
  EXPECT_EQ(difference[Value::kWalBytes], 50u);
  EXPECT_EQ(difference[Value::kEpoch], 4u) << "a gauge is what it is";
  EXPECT_EQ(Difference(*before, *Decoded())[Operation::kRead].count, 1u) << "begun anew: all of it";
}

}  // namespace
}  // namespace zenfs
