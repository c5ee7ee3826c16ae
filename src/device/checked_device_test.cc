#include "device/checked_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/device_data.h"
#include "testing/immediate_queue.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kZoneSize = 16 * 4096;

// A device with arbitrary geometry and reports.
class Liar final : public ZonedDevice {
 public:
  Liar() {
    shape = {.block_size = 4096, .zone_size = kZoneSize, .zone_count = 3, .max_append_bytes = kZoneSize};
    for (std::uint32_t i = 0; i < 3; ++i) {
      ZoneInfo zone;
      zone.id = ZoneId(i);
      zone.start = zone.write_pointer = shape.ZoneStart(ZoneId(i));
      zone.capacity = kZoneSize;
      zones.push_back(zone);
    }
  }
  const Geometry& geometry() const override { return shape; }
  const std::string& name() const override { return label; }
  const std::string& identity() const override { return label; }
  OpenMode mode() const override { return OpenMode::kExclusive; }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    if (zones.size() < first.value + count) return zones;
    return std::vector(zones.begin() + first.value, zones.begin() + first.value + count);
  }
  Status Read(DeviceOffset, ByteSpan) override { return {}; }
  Status Write(DeviceOffset, std::span<const ByteView>) override { return {}; }
  Result<DeviceOffset> Append(ZoneId, ByteView) override { return place; }
  Status Reset(ZoneId) override { return {}; }
  Status Finish(ZoneId) override { return {}; }
  Status Open(ZoneId) override { return {}; }
  Status Close(ZoneId) override { return {}; }
  Status Flush() override { return {}; }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t) override {
    return std::make_unique<ImmediateQueue>(*this);
  }

  Geometry shape;
  std::vector<ZoneInfo> zones;
  DeviceOffset place;
  std::string label = "liar";
};

std::string RefusalOf(auto lie) {
  auto liar = std::make_unique<Liar>();
  lie(*liar);
  const auto checked = CheckDevice(std::move(liar));
  if (checked) return "accepted";
  EXPECT_EQ(checked.error().code(), Code::kInvalidArgument);
  return checked.error().text();
}

TEST(CheckedDeviceTest, HonestDeviceIsAcceptedAndPassedThrough) {
  const auto device = CheckDevice(std::make_unique<Liar>());
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_EQ((*device)->name(), "liar");
  EXPECT_EQ((*device)->Report(ZoneId(1), 2)->at(1).id, ZoneId(2));
  EXPECT_TRUE((*device)->Flush().ok());
}

TEST(CheckedDeviceTest, ImpossibleGeometryIsRefused) {
  EXPECT_THAT(RefusalOf([](Liar& l) { l.shape.zone_count = 0; }), HasSubstr("no zones"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.shape.block_size = 3000; }), HasSubstr("block size 3000"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.shape.block_size = 256; }), HasSubstr("block size 256"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.shape.block_size = 131072; }), HasSubstr("block size 131072"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.shape.zone_size = 5000; }), HasSubstr("zone size 5000"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.shape.zone_size = 0; }), HasSubstr("zone size 0"));
}

TEST(CheckedDeviceTest, ImpossibleRandomWriteAreaIsRefused) {
  const auto areas = [](std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones) {
    return RefusalOf([=](Liar& l) {
      l.shape.random_area_bytes = bytes;
      l.shape.random_area_unit = unit;
      l.shape.random_area_zones = zones;
    });
  };
  EXPECT_EQ(areas(32768, 8192, 2), "accepted");
  EXPECT_THAT(areas(32768, 0, 2), HasSubstr("commit unit"));
  EXPECT_THAT(areas(32768, 2048, 2), HasSubstr("commit unit"));
  EXPECT_THAT(areas(32768, 12288, 2), HasSubstr("32768 bytes"));
  EXPECT_THAT(areas(32768, 8192, 0), HasSubstr("for no zone"));
}

TEST(CheckedDeviceTest, ReportThatContradictsTheGeometryIsRefusedWithBothValues) {
  EXPECT_THAT(RefusalOf([](Liar& l) { l.zones.pop_back(); }), HasSubstr("3 zones from zone 0 has 2"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.zones[1].id = ZoneId(2); }), HasSubstr("zone 2, expected zone 1"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.zones[1].start = DeviceOffset(4096); }),
              AllOf(HasSubstr("start at 4096"), HasSubstr("65536")));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.zones[1].capacity = kZoneSize + 4096; }),
              AllOf(HasSubstr("capacity of 69632"), HasSubstr("65536")));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.zones[1].capacity = 5000; }), HasSubstr("capacity of 5000"));
  EXPECT_THAT(RefusalOf([](Liar& l) { l.zones[1].write_pointer = DeviceOffset(kZoneSize + 4096); }),
              HasSubstr("is empty and reports its write pointer at 69632"));
  const auto closed_at = [](std::uint64_t pointer) {
    return [pointer](Liar& l) {
      l.zones[1].condition = ZoneCondition::kClosed;
      l.zones[1].write_pointer = DeviceOffset(pointer);
    };
  };
  EXPECT_THAT(RefusalOf(closed_at(0)), HasSubstr("write pointer at 0"));
  EXPECT_THAT(RefusalOf(closed_at(2 * kZoneSize + 4096)), HasSubstr("write pointer at 135168"));
  EXPECT_THAT(RefusalOf(closed_at(kZoneSize + 100)), HasSubstr("write pointer at 65636"));
  EXPECT_EQ(RefusalOf(closed_at(kZoneSize + 4096)), "accepted");
}

TEST(CheckedDeviceTest, UndefinedWritePointersAreIgnored) {
  for (const ZoneCondition condition :
       {ZoneCondition::kFull, ZoneCondition::kReadOnly, ZoneCondition::kOffline}) {
    EXPECT_EQ(RefusalOf([condition](Liar& l) {
                l.zones[1].condition = condition;
                l.zones[1].write_pointer = DeviceOffset(~std::uint64_t{0});
              }),
              "accepted");
  }
}

TEST(CheckedDeviceTest, ContradictionAfterTheStartIsCorruption) {
  auto liar = std::make_unique<Liar>();
  Liar& said = *liar;
  const auto device = CheckDevice(std::move(liar)).value();
  said.zones[2].capacity = kZoneSize * 2;
  EXPECT_EQ(device->Report(ZoneId(0), 3).error().code(), Code::kCorruption);
  EXPECT_TRUE(device->Report(ZoneId(0), 2));
}

TEST(CheckedDeviceTest, AppendThatLandedOutsideItsZoneIsRefused) {
  auto liar = std::make_unique<Liar>();
  Liar& said = *liar;
  const auto device = CheckDevice(std::move(liar)).value();
  const AlignedBuffer data = Pattern(8192, 1);
  for (const std::uint64_t place : {std::uint64_t{0}, 2 * kZoneSize, 2 * kZoneSize - 4096, kZoneSize + 1}) {
    said.place = DeviceOffset(place);
    const auto answer = device->Append(ZoneId(1), data.View());
    ASSERT_FALSE(answer) << place;
    EXPECT_EQ(answer.error().code(), Code::kCorruption);
    EXPECT_THAT(answer.error().text(), HasSubstr("reported to be at " + std::to_string(place)));
  }
  said.place = DeviceOffset(2 * kZoneSize - 8192);
  EXPECT_TRUE(device->Append(ZoneId(1), data.View()));
}

TEST(CheckedDeviceTest, QueuedAppendThatLandedOutsideItsZoneIsRefused) {
  auto liar = std::make_unique<Liar>();
  Liar& said = *liar;
  const auto device = CheckDevice(std::move(liar)).value();
  const AlignedBuffer data = Pattern(8192, 1);
  const auto queue = device->CreateQueue(4);
  IoRequest request{
      .kind = IoRequest::Kind::kAppend, .offset = DeviceOffset(kZoneSize), .write_from = data.View()};
  std::vector<IoRequest*> done;
  queue->Submit(&request);
  EXPECT_EQ(queue->in_flight(), 1u);
  queue->Reap(1, done);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(request.status.error().code(), Code::kCorruption);
  said.place = DeviceOffset(kZoneSize + 4096);
  queue->Submit(&request);
  queue->Reap(1, done);
  EXPECT_TRUE(request.status.ok());
}

}  // namespace
}  // namespace zenfs
