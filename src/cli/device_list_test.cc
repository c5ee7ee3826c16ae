#include "cli/device_list.h"

#include <gmock/gmock.h>

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DeviceListTest, PathsAreTakenApartAtColons) {
  EXPECT_THAT(SplitDeviceList("/a.img:/b.img"), ElementsAre("/a.img", "/b.img"));
}

TEST(DeviceListTest, ColonsOfUrisStay) {
  EXPECT_THAT(SplitDeviceList("zenfs://emu:/a.img:emu:/b.img:/c"),
              ElementsAre("zenfs://emu:/a.img", "emu:/b.img", "/c"));
}

TEST(DeviceListTest, EmptyPartsArePassedOver) {
  EXPECT_THAT(SplitDeviceList(""), IsEmpty());
  EXPECT_THAT(SplitDeviceList("::/a::"), ElementsAre("/a"));
}

}  // namespace
}  // namespace zenfs
