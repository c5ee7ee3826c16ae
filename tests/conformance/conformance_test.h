// What the files of the suite share.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "backend_under_test.h"
#include "testing/device_data.h"

namespace zenfs {

class ConformanceTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override {
    if (const DeviceWish w = wish(); !Make(w)) {
      GTEST_SKIP() << GetParam().name << " can't be made on this machine";
    }
  }
  virtual DeviceWish wish() const { return {}; }

  bool Make(const DeviceWish& w) {
    device.reset();
    fixture = GetParam().make(w);
    if (fixture == nullptr) return false;
    Reopen();
    return true;
  }
  void Reopen(OpenMode mode = OpenMode::kExclusive) {
    device.reset();
    auto opened = fixture->Open(mode);
    ASSERT_TRUE(opened) << opened.error().ToString();
    device = std::move(*opened);
    block = device->geometry().block_size;
  }

  // Data of `blocks` blocks.
  AlignedBuffer Filled(std::uint64_t blocks, std::uint64_t seed = 1) const {
    return Pattern(blocks * block, seed);
  }
  DeviceOffset At(std::uint32_t zone, std::uint64_t in_block = 0) const {
    return device->geometry().ZoneStart(ZoneId(zone)) + in_block * block;
  }
  Status WriteBlocks(std::uint32_t zone, std::uint64_t at, std::uint64_t blocks, std::uint64_t seed = 1) {
    const AlignedBuffer data = Filled(blocks, seed);
    return device->Write(At(zone, at), data.View());
  }
  ZoneInfo Zone(std::uint32_t zone) { return ReportOf(*device, ZoneId(zone)); }
  ZoneCondition Condition(std::uint32_t zone) { return Zone(zone).condition; }
  std::uint64_t WrittenBlocks(std::uint32_t zone) { return Zone(zone).WrittenBytes() / block; }
  std::uint64_t CapacityBlocks(std::uint32_t zone) { return Zone(zone).capacity / block; }
  testing::AssertionResult Holds(std::uint32_t zone, std::uint64_t at, const AlignedBuffer& data) {
    const auto found = ReadBack(*device, At(zone, at), data.size());
    if (!found) return testing::AssertionFailure() << found.error().ToString();
    if (!SameBytes(found->View(), data.View())) return testing::AssertionFailure() << "other bytes";
    return testing::AssertionSuccess();
  }

  std::unique_ptr<DeviceFixture> fixture;
  std::unique_ptr<ZonedDevice> device;
  std::uint64_t block = 0;
};

// The test fails with `expected`; any success or other code is a failure of the test.
template <typename Outcome>
testing::AssertionResult FailsWith(const Outcome& result, Code expected) {
  if (result.ok()) return testing::AssertionFailure() << "it succeeded";
  if (result.error().code() == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << CodeName(result.error().code()) << ": " << result.error().ToString();
}

#define ZENFS_INSTANTIATE_CONFORMANCE(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Backend, suite, testing::ValuesIn(BackendsUnderTest()), \
                           [](const auto& backend) { return backend.param.name; })

}  // namespace zenfs
