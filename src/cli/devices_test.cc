#include "cli/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace zenfs {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Kind = Contents::Kind;

constexpr char kOld[] = "6.1.0-56-amd64";
constexpr char kNew[] = "6.12.117+deb12-amd64";
constexpr int kWide = 1000;

SeenDevice Drive() {
  SeenDevice device;
  device.known.uri = {.kind = "dev", .target = "nvme0n1", .options = {}};
  device.known.block = BlockFacts{.name = "nvme0n1",
                                  .model = ZonedModel::kHostManaged,
                                  .hardware = "QEMU NVMe Ctrl",
                                  .zone_size = 16 << 20,
                                  .zone_count = 64,
                                  .max_open = 14,
                                  .volatile_cache = false,
                                  .scheduler = "none",
                                  .schedulers = {"none", "mq-deadline"}};
  device.look.geometry = Geometry{
      .zone_size = 16 << 20, .zone_count = 64, .max_open = 14, .max_active = 0, .volatile_cache = false};
  device.look.zone_capacity = 12 << 20;
  device.look.contents.kind = Kind::kNothing;
  device.look.readable = device.look.writable = true;
  return device;
}

SeenDevice Emulated(Kind kind) {
  SeenDevice device = Drive();
  device.known.uri = {.kind = "emu", .target = "/tmp/a.img", .options = {}};
  device.known.block.reset();
  device.look.contents.kind = kind;
  device.look.contents.uuid = *Uuid::Parse("01234567-89ab-4cde-8f01-23456789abcd");
  device.look.contents.label = "orders";
  return device;
}

SeenDevice Denied() {
  SeenDevice device = Drive();
  device.look = {};
  device.look.contents = {.kind = Kind::kUnreadable,
                          .why = Error(Code::kPermission, "/dev/nvme0n1: no permission to read it")};
  return device;
}

TEST(DeviceTableTest, ColumnsAreAlignedAndSayEverything) {
  EXPECT_EQ(
      DeviceTable({Drive(), Emulated(Kind::kZenfs)}, kNew, kWide),
      "device      kind      model               size  zones  zone size  capacity  open  active  scheduler  "
      "cache          access       holds\n"
      "nvme0n1     block     QEMU NVMe Ctrl  1.00 GiB     64     16 MiB    12 MiB    14    none  none       "
      "write-through  read, write  empty\n"
      "/tmp/a.img  emulated  -               1.00 GiB     64     16 MiB    12 MiB    14    none  -          "
      "write-through  read, write  ZenFS 01234567-89ab-4cde-8f01-23456789abcd (orders)\n\n");
}

TEST(DeviceTableTest, NarrowTerminalsGetALineAFigure) {
  const std::string table = DeviceTable({Drive()}, kNew, 80);
  EXPECT_THAT(table, AllOf(HasSubstr("device     nvme0n1\n"), HasSubstr("  capacity   12 MiB\n")));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(DeviceTableTest, SchedulersThatReorderAreNamedWithTheFix) {
  EXPECT_THAT(DeviceTable({Drive()}, kOld, kWide),
              AllOf(HasSubstr("nvme0n1: its scheduler may reorder"),
                    HasSubstr("echo mq-deadline > /sys/block/nvme0n1/queue/scheduler"),
                    HasSubstr("--set-scheduler")));
  EXPECT_THAT(DeviceTable({Drive()}, kNew, kWide), Not(HasSubstr("mq-deadline")));
  SeenDevice ordered = Drive();
  ordered.known.block->scheduler = "mq-deadline";
  EXPECT_THAT(DeviceTable({ordered}, kOld, kWide), Not(HasSubstr("echo")));
}

TEST(DeviceTableTest, UnreadableDevicesAreShownByWhatTheKernelSays) {
  EXPECT_THAT(DeviceTable({Denied(), Denied()}, kNew, kWide),
              AllOf(HasSubstr("1.00 GiB"), HasSubstr("none    no permission\n"),
                    HasSubstr("nvme0n1, nvme0n1: no permission; join")));
}

TEST(DeviceTableTest, UnreadableZonefsHasNotTheZonesOfItsDisk) {
  SeenDevice mount = Denied();
  mount.known.uri = {.kind = "zonefs", .target = "/mnt/z", .options = {}};
  EXPECT_THAT(DeviceTable({mount, Denied()}, kNew, kWide),
              AllOf(HasSubstr("nvme0n1: no permission; join"),
                    HasSubstr("/mnt/z: no permission; the owner of its zones"), HasSubstr("mkzonefs")));
  EXPECT_TRUE(DeviceJson(mount, kNew)["zones"].is_null());
}

TEST(DeviceTableTest, NoInputSteersTheTerminal) {
  SeenDevice device = Emulated(Kind::kZenfs);
  device.known.uri.target = "/tmp/\033[2J";
  device.look.contents.label = "\033[31m\n";
  EXPECT_THAT(DeviceTable({device}, kNew, kWide) + NextStep({device}), Not(HasSubstr("\033")));
}

TEST(DeviceTableTest, NextStepFitsWhatIsThere) {
  EXPECT_EQ(NextStep({Emulated(Kind::kZenfs), Drive()}), "Next: zenfs mkfs --zbd=nvme0n1\n");
  EXPECT_THAT(NextStep({Emulated(Kind::kZenfs)}),
              HasSubstr("zenfs df --emu=/tmp/a.img, or a RocksDB program with zenfs://uuid:01234567-"));
  SeenDevice asked = Emulated(Kind::kZenfs);
  asked.known.origin = KnownDevice::Origin::kAsked;
  asked.known.uri.target = "/tmp/my disk.img";
  EXPECT_EQ(
      NextStep({asked}),
      "Next: zenfs df '--emu=/tmp/my disk.img', or a RocksDB program with 'zenfs://emu:/tmp/my disk.img'\n");
  EXPECT_THAT(NextStep({Denied()}), HasSubstr("permission for nvme0n1"));
  SeenDevice read_only = Drive();
  read_only.look.writable = false;
  EXPECT_THAT(NextStep({read_only}), HasSubstr("permission for nvme0n1"));
  EXPECT_THAT(NextStep({Emulated(Kind::kOther)}), HasSubstr("mkfs --force --emu=/tmp/a.img"));
  EXPECT_THAT(NextStep({}),
              AllOf(HasSubstr("zenfs emu create"), HasSubstr("docs/testing/lab.md"), EndsWith("\n")));
}

TEST(DeviceTableTest, JsonHasAllFiguresAndNullForWhatIsNotKnown) {
  Json json = DeviceJson(Drive(), kOld);
  EXPECT_EQ(json["device"], "dev:nvme0n1");
  EXPECT_EQ(json["zoned"], "host-managed");
  EXPECT_EQ(json["size"], 1u << 30);
  EXPECT_EQ(json["zone_capacity"], 12u << 20);
  EXPECT_EQ(json["max_active"], 0);
  EXPECT_EQ(json["scheduler"], "none");
  EXPECT_EQ(json["writes_in_order"], false);
  EXPECT_THAT(json["scheduler_fix"].get<std::string>(), HasSubstr("echo mq-deadline"));
  EXPECT_EQ(json["holds"]["kind"], "nothing");
  EXPECT_TRUE(DeviceJson(Drive(), kNew)["scheduler_fix"].is_null());
  json = DeviceJson(Denied(), kNew);
  EXPECT_TRUE(json["zone_capacity"].is_null());
  EXPECT_EQ(json["zones"], 64);
  EXPECT_EQ(json["holds"]["kind"], "unreadable");
  EXPECT_THAT(json["holds"]["why"].get<std::string>(), HasSubstr("no permission"));
  json = DeviceJson(Emulated(Kind::kZenfs), kNew);
  EXPECT_TRUE(json["model"].is_null());
  EXPECT_EQ(json["holds"]["label"], "orders");
}

}  // namespace
}  // namespace zenfs
