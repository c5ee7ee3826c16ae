// Reads, writes and appends.
#include <algorithm>
#include <set>

#include "base/thread.h"
#include "conformance_test.h"

namespace zenfs {
namespace {

using Data = ConformanceTest;

TEST_P(Data, FreshZonesAreEmptyAndFollowOneAnother) {
  const Geometry& g = device->geometry();
  const auto zones = device->Report(ZoneId(0), g.zone_count);
  ASSERT_TRUE(zones);
  ASSERT_EQ(zones->size(), g.zone_count);
  for (std::uint32_t i = 0; i < g.zone_count; ++i) {
    const ZoneInfo& zone = zones->at(i);
    EXPECT_EQ(zone.id, ZoneId(i));
    EXPECT_EQ(zone.start, g.ZoneStart(ZoneId(i)));
    EXPECT_EQ(zone.condition, ZoneCondition::kEmpty);
    EXPECT_EQ(zone.write_pointer, zone.start);
    EXPECT_LE(zone.capacity, g.zone_size);
  }
}

TEST_P(Data, ReportGivesTheAskedRangeAndRefusesMore) {
  const std::uint32_t count = device->geometry().zone_count;
  EXPECT_EQ(device->Report(ZoneId(3), 2)->front().id, ZoneId(3));
  EXPECT_EQ(device->Report(ZoneId(3), 0)->size(), 0u);
  EXPECT_TRUE(FailsWith(device->Report(ZoneId(0), count + 1), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Report(ZoneId(count), 1), Code::kInvalidArgument));
}

TEST_P(Data, WrittenBlocksAreReadBackAndMoveThePointer) {
  ASSERT_TRUE(WriteBlocks(2, 0, 3, 1).ok());
  ASSERT_TRUE(WriteBlocks(2, 3, 2, 2).ok());
  EXPECT_TRUE(Holds(2, 0, Pattern(3 * block, 1)));
  EXPECT_TRUE(Holds(2, 3, Pattern(2 * block, 2)));
  EXPECT_EQ(Zone(2).write_pointer, At(2, 5));
  EXPECT_EQ(Condition(2), ZoneCondition::kImplicitlyOpen);
}

TEST_P(Data, PiecesAreWrittenOneBehindTheOther) {
  std::vector<AlignedBuffer> buffers;
  std::vector<ByteView> pieces;
  for (std::uint64_t i = 0; i < 12; ++i) buffers.push_back(Pattern((1 + i % 3) * block, i));
  for (const AlignedBuffer& buffer : buffers) pieces.push_back(buffer.View());
  ASSERT_TRUE(device->Write(At(1), pieces).ok());
  EXPECT_EQ(WrittenBlocks(1), 24u);
  std::uint64_t at = 0;
  for (const AlignedBuffer& buffer : buffers) {
    EXPECT_TRUE(Holds(1, at, buffer));
    at += buffer.size() / block;
  }
}

TEST_P(Data, WriteElsewhereThanThePointerIsRefused) {
  ASSERT_TRUE(WriteBlocks(1, 0, 3).ok());
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 2, 1), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 4, 1), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(WriteBlocks(2, 1, 1), Code::kInvalidArgument));
  EXPECT_EQ(WrittenBlocks(1), 3u);
  EXPECT_TRUE(Holds(1, 0, Pattern(3 * block, 1)));
}

TEST_P(Data, ZoneIsFullAtItsCapacityAndTakesNoMore) {
  const std::uint64_t capacity = CapacityBlocks(1);
  ASSERT_TRUE(WriteBlocks(1, 0, capacity - 1).ok());
  EXPECT_TRUE(FailsWith(WriteBlocks(1, capacity - 1, 2), Code::kZoneFull));
  ASSERT_TRUE(WriteBlocks(1, capacity - 1, 1, 2).ok());
  EXPECT_EQ(Condition(1), ZoneCondition::kFull);
  if (capacity * block < device->geometry().zone_size) {  // else that is the next zone
    EXPECT_TRUE(FailsWith(WriteBlocks(1, capacity, 1), Code::kZoneFull));
  }
  EXPECT_TRUE(Holds(1, capacity - 1, Pattern(block, 2)));
}

TEST_P(Data, AppendReturnsWhereItPutTheData) {
  if (device->geometry().max_append_bytes == 0) GTEST_SKIP() << "the device offers no append";
  std::set<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const AlignedBuffer data = Pattern(2 * block, i);
    const auto place = device->Append(ZoneId(3), data.View());
    ASSERT_TRUE(place);
    const std::uint64_t at = (*place - At(3)) / block;
    EXPECT_TRUE(Holds(3, at, data));
    places.insert(at);
  }
  EXPECT_EQ(places.size(), 5u);
  EXPECT_EQ(WrittenBlocks(3), 10u);
}

TEST_P(Data, AppendThatDoesNotFitIsZoneFull) {
  if (device->geometry().max_append_bytes == 0) GTEST_SKIP() << "the device offers no append";
  const std::uint64_t capacity = CapacityBlocks(1);
  ASSERT_TRUE(WriteBlocks(1, 0, capacity - 1).ok());
  EXPECT_TRUE(FailsWith(device->Append(ZoneId(1), Pattern(2 * block, 1).View()), Code::kZoneFull));
  ASSERT_TRUE(device->Append(ZoneId(1), Pattern(block, 1).View()));
  EXPECT_TRUE(FailsWith(device->Append(ZoneId(1), Pattern(block, 1).View()), Code::kZoneFull));
}

TEST_P(Data, AppendLongerThanTheDeviceTakesIsRefused) {
  const std::uint64_t longest = device->geometry().max_append_bytes;
  const AlignedBuffer data = Pattern(longest + block, 1);
  EXPECT_FALSE(device->Append(ZoneId(1), data.View()));
  EXPECT_EQ(WrittenBlocks(1), 0u);
}

TEST_P(Data, ReadsBeyondThePointerAndTheZoneFail) {
  ASSERT_TRUE(WriteBlocks(1, 0, 3).ok());
  if (GetParam().refuses_unwritten) {
    EXPECT_FALSE(ReadBack(*device, At(1, 2), 2 * block));
    EXPECT_FALSE(ReadBack(*device, At(2), block));
  }
  EXPECT_FALSE(ReadBack(*device, At(1), device->geometry().zone_size + block));
  EXPECT_FALSE(ReadBack(*device, DeviceOffset(device->geometry().size_bytes()), block));
}

TEST_P(Data, MisalignedRequestsAreRefused) {
  ASSERT_TRUE(WriteBlocks(1, 0, 2).ok());
  AlignedBuffer data = Filled(4);
  const auto read = [&](std::uint64_t offset, std::size_t from, std::size_t size) {
    return device->Read(At(1) + offset, data.Span().subspan(from, size));
  };
  EXPECT_TRUE(FailsWith(read(1, 0, block), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(read(0, 0, block - 1), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(read(0, 1, block), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Write(At(1, 2), data.View(0, block + 8)), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Write(At(1, 2), data.View(8, block)), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Write(At(1, 2) + 8, data.View(0, block)), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Append(ZoneId(1), data.View(0, 8)), Code::kInvalidArgument));
  EXPECT_EQ(WrittenBlocks(1), 2u);
}

TEST_P(Data, RequestsToZonesThatAreNotThereAreRefused) {
  const ZoneId beyond(device->geometry().zone_count);
  const AlignedBuffer data = Filled(1);
  EXPECT_FALSE(device->Write(device->geometry().ZoneStart(beyond), data.View()).ok());
  EXPECT_FALSE(device->Append(beyond, data.View()));
  EXPECT_FALSE(device->Reset(beyond).ok());
  EXPECT_FALSE(device->Finish(beyond).ok());
}

TEST_P(Data, WritersOfDifferentZonesDoNotMeet) {
  const std::uint64_t steps = CapacityBlocks(0) / 2;
  std::vector<Thread> writers;
  for (std::uint32_t zone = 0; zone < 6; ++zone) {
    writers.emplace_back("writer", [&, zone] {
      for (std::uint64_t i = 0; i < steps; ++i) {
        const Status status = WriteBlocks(zone, 2 * i, 2, zone * 1000 + i);
        EXPECT_TRUE(status.ok()) << status.error().ToString();
      }
    });
  }
  writers.clear();
  for (std::uint32_t zone = 0; zone < 6; ++zone) {
    for (std::uint64_t i = 0; i < steps; ++i)
      EXPECT_TRUE(Holds(zone, 2 * i, Pattern(2 * block, zone * 1000 + i)));
  }
}

TEST_P(Data, ConcurrentAppendsToOneZoneEachHaveTheirPlace) {
  if (device->geometry().max_append_bytes == 0) GTEST_SKIP() << "the device offers no append";
  const std::uint64_t each = CapacityBlocks(0) / 4;
  std::vector<std::vector<DeviceOffset>> places(4);
  std::vector<Thread> writers;
  for (std::uint64_t t = 0; t < 4; ++t) {
    writers.emplace_back("appender", [&, t] {
      for (std::uint64_t i = 0; i < each; ++i) {
        const AlignedBuffer data = Filled(1, t * 1000 + i);
        const auto place = device->Append(ZoneId(0), data.View());
        ASSERT_TRUE(place) << place.error().ToString();
        places[t].push_back(*place);
      }
    });
  }
  writers.clear();
  std::set<DeviceOffset> all;
  for (std::uint64_t t = 0; t < 4; ++t) {
    for (std::uint64_t i = 0; i < each; ++i) {
      EXPECT_TRUE(Holds(0, (places[t][i] - At(0)) / block, Pattern(block, t * 1000 + i)));
      all.insert(places[t][i]);
    }
  }
  EXPECT_EQ(all.size(), 4 * each);
}

ZENFS_INSTANTIATE_CONFORMANCE(Data);

}  // namespace
}  // namespace zenfs
