// Metadata zones outside the current generation: the last valid copy of the superblock if the current generation's copy
// is damaged, active slots, and a forged header.
#include "metalog/metazones.h"

#include <gmock/gmock.h>

#include "base/aligned_buffer.h"
#include "metalog/generation_writer.h"
#include "metalog/metalog_test_util.h"
#include "metalog/probe.h"
#include "testing/crash_device.h"
#include "testing/faulty_device.h"

namespace zenfs::metazones_test {
namespace {

constexpr std::uint32_t kZones = 3;
constexpr ZoneId kCurrent{1};

// Generation 1 in zone 0, generation 2 in zone 1.
std::unique_ptr<CrashDevice> Switched(std::uint32_t slots, std::uint32_t zones) {
  EmulatorGeometry geometry = SmallGeometry(64 << 10, 5);
  geometry.max_active = geometry.max_open = slots;
  auto device = std::make_unique<CrashDevice>(geometry);
  EXPECT_TRUE(Formatted(*device, zones).ok());
  const auto log = MustOpen(*device, zones);
  EXPECT_TRUE(log->Commit(CreateNamed(kFirstTestId)).ok());
  EXPECT_TRUE(log->Switch().ok());
  EXPECT_TRUE(log->Commit(CreateNamed(kFirstTestId + 1)).ok());
  log->Stop();
  return device;
}

// Damages more bits than repair can correct.
void DamageCurrentCopy(ZonedDevice& device) {
  const auto report = device.ReportZone(kCurrent);
  ASSERT_TRUE(report);
  AlignedBuffer zone(report->WrittenBytes());
  zone.Resize(zone.capacity());
  const DeviceOffset start = device.geometry().ZoneStart(kCurrent);
  ZENFS_ASSERT_OK(device.Read(start, zone.Span()));
  std::ranges::fill(zone.Span().subspan(100, 100), std::byte{0x5a});
  ZENFS_ASSERT_OK(device.Reset(kCurrent));
  ZENFS_ASSERT_OK(device.Write(start, zone.View()));
  ZENFS_ASSERT_OK(device.Flush());
}

class LastSuperblock : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  // Mounts, which runs a log switch, then commits and switches again. Returns true if all of it succeeded.
  static bool MountAndSwitch(ZonedDevice& device) {
    const auto log = Metalog::Open(device, SuperblockFor(device.geometry(), kZones));
    return log && (*log)->Commit(CreateNamed(kFirstTestId + 2)).ok() && (*log)->Switch().ok();
  }
  static void ExpectVolume(CrashDevice& found, const std::string& where) {
    const auto superblock = ProbeSuperblock(found);
    ASSERT_TRUE(superblock) << where << ": " << superblock.error().ToString();
    const auto log = Metalog::Open(found, *superblock);
    ASSERT_TRUE(log) << where << ": " << log.error().ToString();
    EXPECT_TRUE(HasFile((*log)->recovered(), kFirstTestId + 1)) << where;
  }
  static void ExpectVolumeAfterLossOfPower(const CrashDevice& device, const std::string& where) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const LossPolicy policy = seed == 0   ? LossPolicy::KeepAll()
                                : seed == 1 ? LossPolicy::LoseAll()
                                            : LossPolicy::Random(seed);
      ExpectVolume(*device.Image(policy), fmt::format("{}, seed {}", where, seed));
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(LastSuperblock, IsRewrittenByAMount) {
  const auto device = Switched(GetParam(), kZones);
  DamageCurrentCopy(*device);
  {
    const auto log = MustOpen(*device, kZones);
    EXPECT_EQ(log->stats().switches, 1u);
    ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 2)));
  }
  EXPECT_TRUE(ProbeSuperblock(*device));
  const auto again = MustOpen(*device, kZones);
  EXPECT_EQ(again->recovered().files().size(), 3u);
  EXPECT_EQ(again->stats().switches, 0u);
}

TEST_P(LastSuperblock, OutlivesALossOfPowerAtEachCommandOfAMount) {
  const auto damaged = Switched(GetParam(), kZones);
  DamageCurrentCopy(*damaged);
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = damaged->Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    finished = MountAndSwitch(*device);
    ASSERT_TRUE(finished || device->stopped());
    ExpectVolumeAfterLossOfPower(*device, fmt::format("after command {}", last));
    if (HasFatalFailure()) return;
  }
}

TEST_P(LastSuperblock, OutlivesASwitchOfALogWhoseCopyWasDamagedWhileItWasOpen) {
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = Switched(GetParam(), kZones);
    {
      const auto log = MustOpen(*device, kZones);
      DamageCurrentCopy(*device);
      device->StopAfter(device->commands() + last);
      finished = log->Switch().ok();
    }
    ExpectVolumeAfterLossOfPower(*device, fmt::format("after command {}", last));
    if (HasFatalFailure()) return;
  }
}

// With two zones, only the zone of the last copy is left for the next generation.
TEST_P(LastSuperblock, IsResetIfNoOtherZoneIsLeft) {
  const auto device = Switched(GetParam(), 2);
  DamageCurrentCopy(*device);
  EXPECT_EQ(MustOpen(*device, 2)->stats().switches, 1u);
  ExpectVolume(*device, "after the mount");
}

// No SwitchBegin is written: with an offline zone, the second mount would have to assume newer commits there. Found by
// the fuzz target `image`.
TEST_P(LastSuperblock, InAReadOnlyZonePreventsASwitch) {
  const auto device = Switched(GetParam(), kZones);
  DamageCurrentCopy(*device);
  ZENFS_ASSERT_OK(device->SetCondition(ZoneId(0), ZoneCondition::kReadOnly));
  ZENFS_ASSERT_OK(device->SetCondition(ZoneId(2), ZoneCondition::kOffline));
  for (int mount = 0; mount < 2; ++mount) {
    const auto log = Metalog::Open(*device, SuperblockFor(device->geometry(), kZones));
    ASSERT_FALSE(log);
    EXPECT_THAT(log.error().ToString(), ::testing::HasSubstr("cannot be moved to another zone"));
  }
}

// If the report or read of a zone fails, the zone is kept as if it had the last copy.
TEST_P(LastSuperblock, OutlivesReportsAndReadsThatFail) {
  for (const auto command : {FaultyDevice::Command::kReport, FaultyDevice::Command::kRead}) {
    auto damaged = Switched(GetParam(), kZones);
    DamageCurrentCopy(*damaged);
    FaultyDevice device(std::move(damaged));
    Metazones zones(device, SuperblockFor(device.geometry(), kZones));
    device.Inject({.command = command, .times = 1, .zone = ZoneId(0)});
    zones.ResetAllBut({&kCurrent, 1});
    device.ClearFaults();
    EXPECT_TRUE(ProbeSuperblock(device));
  }
}

INSTANTIATE_TEST_SUITE_P(Slots, LastSuperblock, ::testing::Values(0u, 4u));

// A log switch finishes its old zone, data is written elsewhere, and power is lost. The device kept exactly those unflushed
// commands that leave all slots to data zones.
TEST(MetazonesTest, ALogWhoseZoneIsFullSwitchesWhenDataHasAllSlots) {
  for (const bool torn : {false, true}) {
    EmulatorGeometry geometry = SmallGeometry(64 << 10, 7);
    geometry.max_active = geometry.max_open = 4;
    CrashDevice device(geometry);
    ASSERT_TRUE(Formatted(device, kZones).ok());
    MustOpen(device, kZones)->Stop();
    AlignedBuffer block(device.geometry().block_size);
    block.Resize(block.capacity());
    std::ranges::fill(block.Span(), std::byte{0x5a});
    if (torn) {
      ASSERT_TRUE(device.Append(ZoneId(0), block.View()));
    }
    ZENFS_ASSERT_OK(device.Finish(ZoneId(0)));
    for (std::uint32_t zone = 3; zone < 6;
         ++zone) {  // a spare metadata zone, with a superblock, has the fourth slot
      ASSERT_TRUE(device.Append(ZoneId(zone), block.View()));
    }
    const auto log = Metalog::Open(device, SuperblockFor(device.geometry(), kZones));
    ASSERT_TRUE(log) << log.error().ToString();
    ZENFS_ASSERT_OK((*log)->Commit(CreateNamed(kFirstTestId)));
  }
}

// A forged header with a valid CRC and the highest generation number: the next generation would wrap around to 0. Found by
// the fuzz target `metadata`.
TEST(MetazonesTest, AHeaderOfTheHighestGenerationNumberIsInvalid) {
  CrashDevice device(SmallGeometry(64 << 10, 5));
  ASSERT_TRUE(Formatted(device, kZones).ok());
  const Superblock superblock = SuperblockFor(device.geometry(), kZones);
  Metazones zones(device, superblock);
  GenerationWriter forged(device, superblock, zones,
                          {.generation = UINT64_MAX, .salt = 1, .keep = {ZoneId(0)}, .after = ZoneId(0)});
  ZENFS_ASSERT_OK(forged.BeginZone());
  const auto log = MustOpen(device, kZones);
  ZENFS_ASSERT_OK(log->Switch());
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId)));
  log->Stop();
  EXPECT_TRUE(HasFile(MustOpen(device, kZones)->recovered(), kFirstTestId));
}

}  // namespace
}  // namespace zenfs::metazones_test
