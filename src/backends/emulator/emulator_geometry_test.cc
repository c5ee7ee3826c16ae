#include "backends/emulator/emulator_geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zenfs {
namespace {

using testing::HasSubstr;

TEST(EmulatorGeometryTest, DefaultIsValid) {
  EXPECT_TRUE(Validate(EmulatorGeometry{}).ok());
  EXPECT_EQ(ToDeviceGeometry(EmulatorGeometry{}, true).size_bytes(), 1u << 30);
}

TEST(EmulatorGeometryTest, EachMistakeIsNamed) {
  const std::pair<EmulatorGeometry, const char*> mistakes[] = {
      {{.block_size = 1000}, "block size 1000"},
      {{.block_size = 131072}, "block size 131072"},
      {{.zones = 0}, "0 zones"},
      {{.zone_size = 0}, "zone size 0"},
      {{.zone_size = 4097}, "zone size 4097"},
      {{.zones = 1u << 20, .zone_size = std::uint64_t{1} << 40}, "64 PiB"},
      {{.zone_capacity = 17u << 20}, "above the zone size"},
      {{.zone_capacity = 4097}, "capacity 4097"},
      {{.zones = 4, .conventional = 4}, "4 conventional zones"},
      {{.max_open = 15, .max_active = 14}, "max-open 15 is above max-active 14"},
      {{.max_open = 0, .max_active = 14}, "unlimited"},
      {{.random_unit = 4096}, "without a random write area"},
      {{.random_zones = 1}, "without a random write area"},
      {{.random_area = 65536, .random_zones = 1}, "random unit 0"},
      {{.random_area = 65536, .random_unit = 6144, .random_zones = 1}, "random unit"},
      {{.random_area = 65536, .random_unit = 24576, .random_zones = 1}, "random area 64.0 KiB"},
      {{.random_area = 32u << 20, .random_unit = 4096, .random_zones = 1}, "above the capacity of a zone"},
      {{.random_area = 65536, .random_unit = 16384}, "for 0 zones"},
  };
  for (const auto& [geometry, text] : mistakes) {
    const Status status = Validate(geometry);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(status.error().text(), HasSubstr(text));
  }
}

TEST(EmulatorGeometryTest, RandomWriteAreasAreInTheGeometryOfTheDevice) {
  const EmulatorGeometry geometry{.random_area = 65536, .random_unit = 16384, .random_zones = 3};
  ASSERT_TRUE(Validate(geometry).ok());
  const Geometry device = ToDeviceGeometry(geometry, true);
  EXPECT_EQ(device.random_area_bytes, 65536u);
  EXPECT_EQ(device.random_area_unit, 16384u);
  EXPECT_EQ(device.random_area_zones, 3u);
}

TEST(EmulatorGeometryTest, NoLimitsIsValid) {
  EXPECT_TRUE(Validate({.max_open = 0, .max_active = 0}).ok());
  EXPECT_TRUE(Validate({.max_open = 14, .max_active = 0}).ok());
}

TEST(EmulatorGeometryTest, ConventionalZonesHaveTheWholeSize) {
  const EmulatorGeometry geometry{.zone_size = 16384, .zone_capacity = 12288, .conventional = 2};
  EXPECT_EQ(geometry.capacity_of(ZoneId(1)), 16384u);
  EXPECT_EQ(geometry.capacity_of(ZoneId(2)), 12288u);
}

}  // namespace
}  // namespace zenfs
