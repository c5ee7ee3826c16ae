#include "discovery/volume_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "backends/open_device.h"
#include "base/boot_id.h"
#include "base/sync_point.h"
#include "discovery/contents.h"
#include "discovery/discovery_test_util.h"
#include "metalog/pair_zones.h"
#include "metalog/probe.h"

namespace zenfs::volume_device_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class VolumeDeviceTest : public DiscoveryTest {
 protected:
  // Makes the superblocks of a volume on two devices and returns its UUID.
  Uuid MakePair(const std::string& main, const std::string& logs, const std::string& options = "") {
    const Uuid uuid = Uuid::Generate();
    const auto main_device = OpenEmulatedFile(Make(main, 16), OpenMode::kExclusive);
    const auto logs_device = OpenEmulatedFile(Make(logs, 12), OpenMode::kExclusive);
    Superblock superblock{.uuid = uuid,
                          .seed = uuid,
                          .block_size = 4096,
                          .zone_size = 1 << 20,
                          .zone_count = 26,
                          .incompatible = kHasLogDevice,
                          .metadata_zones = {ZoneId(0), ZoneId(1)},
                          .log_zones = 10,
                          .first_log_zone = ZoneId(2),
                          .peer = "emu:" + directory_.File(logs) + options};
    EXPECT_TRUE(Metalog::Format(**main_device, superblock, {}).ok());
    superblock.zone_count = 12;
    superblock.incompatible = kIsLogDevice;
    superblock.peer = "emu:" + directory_.File(main);
    EXPECT_TRUE(Metalog::Format(**logs_device, superblock, {}).ok());
    return uuid;
  }
  // What a mount leaves.
  void NoteMount(const std::string& main, const std::string& logs, const std::string& boot = BootId()) {
    const auto of_main = OpenEmulatedFile(directory_.File(main), OpenMode::kReadOnly);
    const auto of_logs = OpenEmulatedFile(directory_.File(logs), OpenMode::kExclusive);
    ASSERT_TRUE(WritePairRecord(**of_logs, *FindSuperblock(**of_logs),
                                {.epoch = 1,
                                 .key = Uuid::Generate(),
                                 .boot = boot,
                                 .main_identity = (*of_main)->identity(),
                                 .logs_identity = (*of_logs)->identity()})
                    .ok());
  }
  void Copy(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(directory_.File(to)).parent_path());
    std::filesystem::copy_file(directory_.File(from), directory_.File(to));
  }
  std::string Make(const std::string& name, std::uint32_t zones) {
    const EmulatorGeometry geometry{.zones = zones, .zone_size = 1 << 20};
    EXPECT_TRUE(CreateEmulatedFile(directory_.File(name), geometry, true).ok());
    return directory_.File(name);
  }
  Result<std::unique_ptr<ZonedDevice>> Open(const std::string& main, const std::string& logs = "",
                                            OpenMode mode = OpenMode::kExclusive) {
    DeviceUri uri{.kind = "emu", .target = directory_.File(main), .options = {{"buffer_kib", "64"}}};
    if (!logs.empty()) uri.options.emplace_back("waldev", "emu:" + directory_.File(logs));
    unclaimed_.clear();
    return OpenVolumeDevice(uri, mode, &unclaimed_, places_);
  }
  void ExpectJoined(const Result<std::unique_ptr<ZonedDevice>>& device, const std::string& logs) {
    ASSERT_TRUE(device) << device.error().ToString();
    EXPECT_EQ((*device)->geometry().log_zones, 10U);
    EXPECT_THAT((*device)->name(), HasSubstr(directory_.File(logs)));
    EXPECT_EQ(unclaimed_, (DeviceOptions{{"buffer_kib", "64"}})) << "waldev is taken, others stay";
  }
  std::string ErrorOf(const Result<std::unique_ptr<ZonedDevice>>& device, Code code) {
    if (device.ok()) return "opened";
    EXPECT_EQ(device.error().code(), code);
    return device.error().text();
  }
  void Move(const std::string& from, const std::string& to) {
    std::filesystem::rename(directory_.File(from), directory_.File(to));
  }

  DeviceOptions unclaimed_;
};

TEST_F(VolumeDeviceTest, SecondDeviceIsFoundUnderTheNameThatMkfsKnew) {
  MakePair("main.img", "logs.img");
  ExpectJoined(Open("main.img"), "logs.img");
}

TEST_F(VolumeDeviceTest, SecondDeviceThatMovedIsFoundAmongTheKnownOnes) {
  MakePair("main.img", "logs.img");
  Move("logs.img", "moved.img");
  List(MakeVolume("other.img", Uuid::Generate()));
  List(directory_.File("moved.img"));
  ExpectJoined(Open("main.img"), "moved.img");
}

TEST_F(VolumeDeviceTest, SecondDeviceThatMovedIsTakenByName) {
  MakePair("main.img", "logs.img");
  Move("logs.img", "moved.img");
  ExpectJoined(Open("main.img", "moved.img"), "moved.img");
}

TEST_F(VolumeDeviceTest, MissingSecondDeviceIsNamed) {
  MakePair("main.img", "logs.img");
  Move("logs.img", "moved.img");
  EXPECT_THAT(ErrorOf(Open("main.img"), Code::kNotFound),
              AllOf(HasSubstr("main.img"), HasSubstr("at mkfs emu:" + directory_.File("logs.img")),
                    HasSubstr("?waldev:")));
}

TEST_F(VolumeDeviceTest, AnotherDeviceUnderTheNameIsNotTaken) {
  MakePair("main.img", "logs.img");
  Move("logs.img", "moved.img");
  MakePair("main2.img", "logs.img");
  EXPECT_THAT(ErrorOf(Open("main.img"), Code::kNotFound), HasSubstr("no logs of it now"));
  EXPECT_THAT(ErrorOf(Open("main.img", "logs.img"), Code::kInvalidArgument),
              AllOf(HasSubstr("has not the logs"), HasSubstr("main.img")));
  const std::string other = MakeVolume("other.img", Uuid::Generate());
  EXPECT_THAT(ErrorOf(Open("main.img", "other.img"), Code::kInvalidArgument), HasSubstr("has not the logs"));
}

// Whoever may write in its directory could lead a privileged user's verb to a device of that user.
TEST_F(VolumeDeviceTest, AnotherDeviceThatTakesTheNameAfterItWasJudgedIsNotOpened) {
  MakePair("main.img", "logs.img");
  Copy("logs.img", "other.img");
  for (const char* const named : {"", "logs.img"}) {
    const SyncPoint::Scope exchange([&](std::string_view point) {
      if (point != "OpenVolumeDevice:chosen") return;
      Move("logs.img", "kept.img");
      std::filesystem::create_symlink(directory_.File("other.img"), directory_.File("logs.img"));
    });
    EXPECT_THAT(ErrorOf(Open("main.img", named), Code::kBusy),
                HasSubstr("another device has taken its name"));
    std::filesystem::remove(directory_.File("logs.img"));
    Move("kept.img", "logs.img");
  }
  ExpectJoined(Open("main.img"), "logs.img");
}

TEST_F(VolumeDeviceTest, WaldevOfAVolumeWithItsOwnLogsIsRefused) {
  MakePair("main.img", "logs.img");
  MakeVolume("single.img", Uuid::Generate());
  EXPECT_THAT(ErrorOf(Open("single.img", "logs.img"), Code::kInvalidArgument),
              HasSubstr("leave the option out"));
}

TEST_F(VolumeDeviceTest, DevicesWithoutASecondOneAreOpenedAlone) {
  MakeVolume("single.img", Uuid::Generate());
  const auto single = Open("single.img");
  ASSERT_TRUE(single);
  EXPECT_EQ((*single)->geometry().log_zones, 0U);
  MakeDevice("empty.img");
  EXPECT_TRUE(Open("empty.img"));
}

// The superblocks of the main device are gone, as before a repair.
TEST_F(VolumeDeviceTest, WaldevJoinsAMainDeviceThatIsUnreadable) {
  MakePair("main.img", "logs.img");
  {
    const auto main = OpenEmulatedFile(directory_.File("main.img"), OpenMode::kExclusive);
    for (std::uint32_t zone = 0; zone < 3; ++zone) ASSERT_TRUE((*main)->Reset(ZoneId(zone)).ok());
  }
  ExpectJoined(Open("main.img", "logs.img"), "logs.img");
}

TEST_F(VolumeDeviceTest, ReadersShareBothDevicesWithAWriter) {
  MakePair("main.img", "logs.img");
  const auto writer = Open("main.img");
  ASSERT_TRUE(writer);
  EXPECT_TRUE(Open("main.img", "", OpenMode::kReadOnly));
  ErrorOf(Open("main.img"), Code::kBusy);
}

TEST_F(VolumeDeviceTest, ACopyOfTheFirstDeviceDoesNotLeadToTheOriginalsLogs) {
  for (const std::string& boot : {BootId(), std::string("an earlier boot")}) {
    MakePair("main.img", "logs.img");
    NoteMount("main.img", "logs.img", boot);
    Copy("main.img", "main2.img");
    Copy("logs.img", "logs2.img");
    for (const OpenMode mode : {OpenMode::kExclusive, OpenMode::kReadOnly}) {
      EXPECT_THAT(
          ErrorOf(Open("main2.img", "", mode), Code::kNotFound),
          AllOf(HasSubstr("main2.img is not the device that was last mounted"), HasSubstr("a copy of it"),
                HasSubstr("/logs.img belongs to the original"), HasSubstr("?waldev:")));
    }
    ExpectJoined(Open("main2.img", "logs2.img"), "logs2.img");
    ExpectJoined(Open("main.img"), "logs.img");
    std::filesystem::remove(directory_.File("main2.img"));
    std::filesystem::remove(directory_.File("logs2.img"));
  }
}

TEST_F(VolumeDeviceTest, CopiesInOneFolderFindEachOther) {
  for (const std::string& boot : {BootId(), std::string("an earlier boot")}) {
    MakePair("main.img", "logs.img");
    NoteMount("main.img", "logs.img", boot);
    Copy("main.img", "copy/main.img");
    Copy("logs.img", "copy/logs.img");
    ExpectJoined(Open("copy/main.img"), "copy/logs.img");
    ExpectJoined(Open("main.img"), "logs.img");
    std::filesystem::remove_all(directory_.File("copy"));
  }
}

TEST_F(VolumeDeviceTest, DevicesThatMovedTogetherFindEachOther) {
  MakePair("main.img", "logs.img");
  NoteMount("main.img", "logs.img");
  std::filesystem::create_directory(directory_.File("there"));
  Move("main.img", "there/main.img");
  Move("logs.img", "there/logs.img");
  ExpectJoined(Open("there/main.img"), "there/logs.img");
}

TEST_F(VolumeDeviceTest, ACopyOfTheLogDeviceIsTakenOnlyByName) {
  MakePair("main.img", "logs.img");
  NoteMount("main.img", "logs.img");
  Copy("logs.img", "logs2.img");
  std::filesystem::remove(directory_.File("logs.img"));
  Move("logs2.img", "logs.img");
  EXPECT_THAT(
      ErrorOf(Open("main.img"), Code::kInvalidArgument),
      AllOf(HasSubstr("logs.img is not the log device of the last mount"), HasSubstr("?waldev:emu:")));
  ExpectJoined(Open("main.img", "logs.img"), "logs.img");
}

TEST_F(VolumeDeviceTest, OfTwoCopiesOfTheLogDeviceNeitherIsTaken) {
  MakePair("main.img", "logs.img");
  NoteMount("main.img", "logs.img");
  Copy("main.img", "copy/main2.img");
  for (const char* name : {"a.img", "b.img"}) {
    Copy("logs.img", name);
    List(directory_.File(name));
  }
  EXPECT_THAT(ErrorOf(Open("copy/main2.img"), Code::kInvalidArgument),
              AllOf(HasSubstr("both"), HasSubstr("a.img"), HasSubstr("b.img")));
}

TEST_F(VolumeDeviceTest, OptionsInASuperblockAreNotObeyed) {
  MakePair("main.img", "logs.img", "?latency_us:10000000");
  EXPECT_THAT(ErrorOf(Open("main.img"), Code::kInvalidArgument), HasSubstr("with options"));
  ExpectJoined(Open("main.img", "logs.img"), "logs.img");
}

TEST_F(VolumeDeviceTest, ADeviceOfAnotherUserIsOpenedOnlyByName) {
  MakePair("main.img", "logs.img");
  NoteMount("main.img", "logs.img");
  constexpr uid_t kNobody = 65534;
  if (::chown(directory_.File("main.img").c_str(), kNobody, kNobody) != 0) GTEST_SKIP() << "needs root";
  EXPECT_THAT(ErrorOf(Open("main.img"), Code::kPermission),
              AllOf(HasSubstr("user 65534"), HasSubstr("user 0"), HasSubstr("?waldev:emu:")));
  ExpectJoined(Open("main.img", "logs.img"), "logs.img");
}

// What a log device says of its last mount, its maker may have forged.
TEST_F(VolumeDeviceTest, ALogDeviceThatOthersMayChangeIsOpenedOnlyByName) {
  MakePair("main.img", "logs.img");
  NoteMount("main.img", "logs.img");
  constexpr uid_t kNobody = 65534;
  const std::string logs = directory_.File("logs.img");
  for (const mode_t mode : {0666, 0660}) {
    ASSERT_EQ(::chmod(logs.c_str(), mode), 0);
    EXPECT_THAT(ErrorOf(Open("main.img"), Code::kPermission),
                HasSubstr(mode == 0666 ? "by everybody" : "and group"));
    ExpectJoined(Open("main.img", "logs.img"), "logs.img");
  }
  ASSERT_EQ(::chmod(logs.c_str(), 0600), 0);
  ExpectJoined(Open("main.img"), "logs.img");
  if (::chown(logs.c_str(), kNobody, kNobody) != 0) GTEST_SKIP() << "needs root";
  EXPECT_THAT(ErrorOf(Open("main.img"), Code::kPermission), HasSubstr("user 65534"));
}

TEST_F(VolumeDeviceTest, ADeviceOfAnotherUserDeniesNoMount) {
  MakePair("main.img", "logs.img");
  NoteMount("main.img", "logs.img");
  Copy("logs.img", "moved.img");
  List(directory_.File("moved.img"));
  Copy("logs.img", "foreign.img");
  List(directory_.File("foreign.img"));
  ASSERT_EQ(::chmod(directory_.File("foreign.img").c_str(), 0666), 0);
  Copy("main.img", "elsewhere/main2.img");
  ExpectJoined(Open("elsewhere/main2.img"), "moved.img");
}

TEST_F(VolumeDeviceTest, LooksTellTheTwoDevicesApart) {
  const Uuid uuid = MakePair("main.img", "logs.img");
  const Contents main = Probe(Emulated(directory_.File("main.img")));
  EXPECT_EQ(main.kind, Contents::Kind::kZenfs);
  EXPECT_EQ(main.uuid, uuid);
  const Contents logs = Probe(Emulated(directory_.File("logs.img")));
  EXPECT_EQ(logs.kind, Contents::Kind::kLogs);
  EXPECT_EQ(logs.uuid, uuid);
}

}  // namespace
}  // namespace zenfs::volume_device_test
