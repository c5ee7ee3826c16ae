// Commands submitted to a queue and reaped.
#include <algorithm>
#include <set>

#include "conformance_test.h"

namespace zenfs {
namespace {

class Queue : public ConformanceTest {
 protected:
  // All of `requests` in flight at once, then all reaped, a few at a time.
  void Run(std::vector<IoRequest>& requests) {
    const auto queue = device->CreateQueue(requests.size());
    for (IoRequest& request : requests) queue->Submit(&request);
    EXPECT_EQ(queue->in_flight(), requests.size());
    std::vector<IoRequest*> done;
    while (queue->in_flight() != 0) queue->Reap(3, done);
    std::set<IoRequest*> distinct(done.begin(), done.end());
    EXPECT_EQ(done.size(), requests.size());
    EXPECT_EQ(distinct.size(), requests.size());
  }
};

TEST_P(Queue, ReadsInFlightEachFillTheirBuffer) {
  ASSERT_TRUE(WriteBlocks(1, 0, 16).ok());
  std::vector<AlignedBuffer> buffers;
  std::vector<IoRequest> requests(16);
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    buffers.emplace_back(block).Resize(block);
    requests[i].offset = At(1, 15 - i);
    requests[i].read_into = buffers.back().Span();
  }
  Run(requests);
  const AlignedBuffer expected = Pattern(16 * block, 1);
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(requests[i].status.ok());
    EXPECT_TRUE(SameBytes(buffers[i].View(), expected.View((15 - i) * block, block)));
  }
}

TEST_P(Queue, WritesToDifferentZonesInFlight) {
  const AlignedBuffer data = Filled(4);
  std::vector<IoRequest> requests(6);
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    requests[i] = {.kind = IoRequest::Kind::kWrite, .offset = At(i), .write_from = data.View()};
  }
  Run(requests);
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(requests[i].status.ok());
    EXPECT_TRUE(Holds(i, 0, data));
  }
}

TEST_P(Queue, AppendsToOneZoneInFlightEachHaveTheirPlace) {
  if (device->geometry().max_append_bytes == 0) GTEST_SKIP() << "the device offers no append";
  std::vector<AlignedBuffer> buffers;
  std::vector<IoRequest> requests(8);
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    buffers.push_back(Filled(2, i));
    requests[i] = {.kind = IoRequest::Kind::kAppend, .offset = At(3), .write_from = buffers[i].View()};
  }
  Run(requests);
  std::set<DeviceOffset> places;
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(requests[i].status.ok());
    EXPECT_TRUE(Holds(3, (requests[i].placed_at - At(3)) / block, buffers[i]));
    places.insert(requests[i].placed_at);
  }
  EXPECT_EQ(places.size(), requests.size());
}

TEST_P(Queue, ErrorsAreDeliveredByReapWithTheirRequest) {
  AlignedBuffer buffer = Filled(1);
  std::vector<IoRequest> requests(3);
  requests[0] = {.kind = IoRequest::Kind::kRead, .offset = At(5), .read_into = buffer.Span()};
  requests[1] = {.kind = IoRequest::Kind::kWrite, .offset = At(6, 4), .write_from = buffer.View()};
  requests[2] = {.kind = IoRequest::Kind::kWrite, .offset = At(7), .write_from = buffer.View()};
  Run(requests);
  EXPECT_TRUE(!requests[0].status.ok() || !GetParam().refuses_unwritten);
  EXPECT_FALSE(requests[1].status.ok());
  EXPECT_TRUE(requests[2].status.ok());
}

TEST_P(Queue, ReapOfAnEmptyQueueReturns) {
  const auto queue = device->CreateQueue(4);
  std::vector<IoRequest*> done;
  queue->Reap(1, done);
  queue->Reap(0, done);
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(queue->in_flight(), 0u);
}

TEST_P(Queue, TagsAndEarlierResultsAreLeftAlone) {
  int mine = 0;
  const AlignedBuffer data = Filled(1);
  IoRequest request{
      .kind = IoRequest::Kind::kWrite, .offset = At(1), .write_from = data.View(), .tag = &mine};
  const auto queue = device->CreateQueue(1);
  IoRequest earlier;
  std::vector<IoRequest*> done{&earlier};
  queue->Submit(&request);
  queue->Reap(1, done);
  EXPECT_EQ(done, (std::vector<IoRequest*>{&earlier, &request}));
  EXPECT_EQ(request.tag, &mine);
}

TEST_P(Queue, DestroyedQueueHasFinishedItsCommands) {
  const AlignedBuffer data = Filled(4);
  IoRequest request{.kind = IoRequest::Kind::kWrite, .offset = At(1), .write_from = data.View()};
  {
    const auto queue = device->CreateQueue(1);
    queue->Submit(&request);
  }
  EXPECT_TRUE(Holds(1, 0, data));
}

ZENFS_INSTANTIATE_CONFORMANCE(Queue);

}  // namespace
}  // namespace zenfs
