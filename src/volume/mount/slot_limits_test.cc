// Devices with fewer than four zone slots: no volume is made or mounted on them.
#include "volume/fsck/scrub.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

constexpr std::string_view kThreeOfEach =
    "emu:memory: the device allows 3 open and 3 active zones at once (0: no limit), and ZenFS needs at least "
    "4 of each";

std::uint64_t CommandsThatChange(const EmulatorDevice& device) {
  return device.meter().of(EmulatorCommand::kWrite).commands +
         device.meter().of(EmulatorCommand::kAppend).commands +
         device.meter().of(EmulatorCommand::kManagement).commands;
}

template <typename T>
void ExpectRefused(const Result<T>& result, std::string_view text) {
  EXPECT_EQ(CodeOf(result), Code::kNotSupported);
  EXPECT_EQ(result ? "" : result.error().text(), text);
}

// R7 of docs/internals/failures.md.
TEST(SlotLimits, MkfsRefusesADeviceWithThreeSlotsWithoutTouchingIt) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.max_open = geometry.max_active = 3;
  const auto device = CreateMemoryDevice(geometry);
  ExpectRefused(FormatVolume(*device, {.force = true}), kThreeOfEach);
  EXPECT_EQ(CommandsThatChange(*device), 0u);
  geometry.max_active = 9;
  EXPECT_EQ(CodeOf(FormatVolume(*CreateMemoryDevice(geometry), {})), Code::kNotSupported)
      << "each limit applies alone";
  geometry.max_open = geometry.max_active = 4;
  EXPECT_TRUE(IsOk(FormatVolume(*CreateMemoryDevice(geometry), {})));
}

// A volume as an earlier version made it.
TEST(SlotLimits, MountRefusesAVolumeOnADeviceWithThreeSlotsWithoutTouchingIt) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  const std::uint64_t before = CommandsThatChange(*device);
  ExpectRefused(Volume::Mount(BorrowWithSlots(*device, 3, 3), {}), kThreeOfEach);
  const auto with_three = BorrowWithSlots(*device, 3, 3);
  ExpectRefused(Volume::Mount(MakeReadOnlyView(*with_three), {.read_only = true}), kThreeOfEach);
  ExpectRefused(CheckVolume(*with_three, {}), kThreeOfEach);
  ExpectRefused(ScrubVolume(*with_three, {}), kThreeOfEach);
  EXPECT_EQ(CommandsThatChange(*device), before);
  EXPECT_TRUE(IsOk(Volume::Mount(BorrowWithSlots(*device, 4, 0), {})));
}

}  // namespace
}  // namespace zenfs
