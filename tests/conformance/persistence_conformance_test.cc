// What survives the object: state, data, the lock, and opening read-only. For backends that persist.
#include "conformance_test.h"

namespace zenfs {
namespace {

using enum ZoneCondition;

using Persistence = ConformanceTest;

TEST_P(Persistence, ZonesAndDataAreFoundAgain) {
  ASSERT_TRUE(WriteBlocks(1, 0, 5, 3).ok());
  ASSERT_TRUE(WriteBlocks(2, 0, 2, 4).ok());
  ASSERT_TRUE(device->Finish(ZoneId(2)).ok());
  ASSERT_TRUE(WriteBlocks(3, 0, 2).ok());
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  Reopen();
  EXPECT_EQ(WrittenBlocks(1), 5u);
  EXPECT_TRUE(Holds(1, 0, Pattern(5 * block, 3)));
  EXPECT_EQ(Condition(2), kFull);
  EXPECT_TRUE(Holds(2, 0, Pattern(2 * block, 4)));
  EXPECT_EQ(Condition(3), kEmpty);
  EXPECT_TRUE(WriteBlocks(1, 5, 1).ok());
}

TEST_P(Persistence, GeometryIsTheSameAgain) {
  const Geometry before = device->geometry();
  Reopen();
  const Geometry& after = device->geometry();
  EXPECT_EQ(after.block_size, before.block_size);
  EXPECT_EQ(after.zone_size, before.zone_size);
  EXPECT_EQ(after.zone_count, before.zone_count);
  EXPECT_EQ(after.max_open, before.max_open);
  EXPECT_EQ(after.max_active, before.max_active);
}

TEST_P(Persistence, ReadOnlyDeviceReadsAndRefusesEveryChange) {
  ASSERT_TRUE(WriteBlocks(1, 0, 3).ok());
  Reopen(OpenMode::kReadOnly);
  EXPECT_EQ(device->mode(), OpenMode::kReadOnly);
  EXPECT_TRUE(Holds(1, 0, Pattern(3 * block, 1)));
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 3, 1), Code::kReadOnly));
  EXPECT_TRUE(FailsWith(device->Append(ZoneId(1), Filled(1).View()), Code::kReadOnly));
  EXPECT_TRUE(FailsWith(device->Reset(ZoneId(1)), Code::kReadOnly));
  EXPECT_TRUE(FailsWith(device->Finish(ZoneId(1)), Code::kReadOnly));
  EXPECT_TRUE(FailsWith(device->Open(ZoneId(1)), Code::kReadOnly));
  EXPECT_TRUE(FailsWith(device->Close(ZoneId(1)), Code::kReadOnly));
  EXPECT_TRUE(FailsWith(device->Flush(), Code::kReadOnly));
  EXPECT_EQ(WrittenBlocks(1), 3u);
}

TEST_P(Persistence, OneHolderAtATime) {
  EXPECT_TRUE(FailsWith(fixture->Open(OpenMode::kExclusive), Code::kBusy));
  EXPECT_TRUE(fixture->Open(OpenMode::kReadOnly)) << "readers may stand beside";
  device.reset();
  EXPECT_TRUE(fixture->Open(OpenMode::kExclusive));
}

std::vector<BackendUnderTest> PersistingBackends() {
  auto backends = BackendsUnderTest();
  std::erase_if(backends, [](const BackendUnderTest& backend) { return !backend.persists; });
  return backends;
}

INSTANTIATE_TEST_SUITE_P(Backend, Persistence, testing::ValuesIn(PersistingBackends()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace zenfs
