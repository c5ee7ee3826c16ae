#include "backends/nvme/nvme_namespace.h"

#include <endian.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <libnvme.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/unique_fd.h"
#include "testing/temp_directory.h"

namespace zenfs::nvme_namespace_test {
namespace {

// The identify data of a drive with blocks of 4,096 bytes and zones of 16 MiB.
struct Drive {
  Drive() {
    controller.mdts = 7;
    controller.vwc = 1;
    name_space.nsze = htole64(64 * (16 << 20) / 4096);
    Format(0, 12, 0, (16 << 20) / 4096);
    zoned_namespace.mor = htole32(13);
    zoned_namespace.mar = htole32(27);
  }
  void Format(std::size_t index, std::uint8_t exponent, std::uint16_t metadata, std::uint64_t zone_blocks) {
    name_space.flbas = static_cast<__u8>((index & 0xf) | (index >> 4) << 5);
    name_space.lbaf[index].ds = exponent;
    name_space.lbaf[index].ms = htole16(metadata);
    zoned_namespace.lbafe[index].zsze = htole64(zone_blocks);
  }
  Result<NamespaceFacts> Facts() const {
    return FactsOf("nvme:x", {.controller = controller,
                              .name_space = name_space,
                              .zoned_controller = zoned_controller,
                              .zoned_namespace = zoned_namespace});
  }

  nvme_id_ctrl controller{};
  nvme_id_ns name_space{};
  nvme_zns_id_ctrl zoned_controller{};
  nvme_zns_id_ns zoned_namespace{};
};

TEST(NamespaceFactsTest, FieldsAreConvertedToBytesAndZones) {
  auto drive = std::make_unique<Drive>();
  drive->zoned_controller.zasl = 5;
  const auto facts = drive->Facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->block_size, 4096U);
  EXPECT_EQ(facts->size, std::uint64_t{64} << 24);
  EXPECT_EQ(facts->zone_size, std::uint64_t{16} << 20);
  EXPECT_EQ(facts->max_open, 14U);
  EXPECT_EQ(facts->max_active, 28U);
  EXPECT_EQ(facts->longest_command, 512U << 10);
  EXPECT_EQ(facts->longest_append, 128U << 10);
  EXPECT_TRUE(facts->volatile_cache);
}

TEST(NamespaceFactsTest, AppendsAreAsLongAsOtherCommandsUnlessTheDriveSaysOtherwise) {
  auto drive = std::make_unique<Drive>();
  EXPECT_EQ(drive->Facts()->longest_append, 512U << 10);
}

TEST(NamespaceFactsTest, AbsentLimitsAreZero) {
  auto drive = std::make_unique<Drive>();
  drive->controller.mdts = 0;
  drive->controller.vwc = 0;
  drive->zoned_namespace.mor = drive->zoned_namespace.mar = htole32(0xffffffff);
  const auto facts = drive->Facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->longest_command, 0U);
  EXPECT_EQ(facts->longest_append, 0U);
  EXPECT_EQ(facts->max_open, 0U);
  EXPECT_EQ(facts->max_active, 0U);
  EXPECT_FALSE(facts->volatile_cache);
}

// Copies of at most 1,000 blocks, from at most 5 ranges of 128 blocks each.
std::unique_ptr<Drive> DriveThatCopies() {
  auto drive = std::make_unique<Drive>();
  drive->controller.oncs = htole16(NVME_CTRL_ONCS_COPY);
  drive->controller.ocfs = htole16(3);
  drive->name_space.mssrl = htole16(128);
  drive->name_space.mcl = htole32(1000);
  drive->name_space.msrc = 4;
  return drive;
}

TEST(NamespaceFactsTest, CopiesAreAsLongAsAllTheirRanges) {
  const auto facts = DriveThatCopies()->Facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->longest_copy, 5U * 128 * 4096);
  EXPECT_EQ(facts->longest_copy_range, 128U * 4096);
}

TEST(NamespaceFactsTest, CopiesAreAsLongAsTheDriveTakesAtOnce) {
  auto drive = DriveThatCopies();
  drive->name_space.msrc = 255;
  EXPECT_EQ(drive->Facts()->longest_copy, 1000U * 4096);
}

TEST(NamespaceFactsTest, DriveThatTakesNoCopiesOfFormatZeroHasNone) {
  const auto longest_with = [](auto change) {
    const auto drive = DriveThatCopies();
    change(*drive);
    const auto facts = drive->Facts();
    return facts->longest_copy + facts->longest_copy_range;
  };
  EXPECT_EQ(longest_with([](Drive& drive) { drive.controller.oncs = htole16(0xff); }), 0U) << "no command";
  EXPECT_EQ(longest_with([](Drive& drive) { drive.controller.ocfs = htole16(2); }), 0U) << "other formats";
  EXPECT_EQ(longest_with([](Drive& drive) { drive.name_space.mssrl = 0; }), 0U);
  EXPECT_EQ(longest_with([](Drive& drive) { drive.name_space.mcl = 0; }), 0U);
}

// Areas of 64 KiB, with commits of 16 KiB, for 3 zones.
std::unique_ptr<Drive> DriveWithRandomAreas() {
  auto drive = std::make_unique<Drive>();
  drive->zoned_namespace.ozcs = htole16(2);
  drive->zoned_namespace.numzrwa = htole32(3);
  drive->zoned_namespace.zrwasz = htole16(16);
  drive->zoned_namespace.zrwafg = htole16(4);
  drive->zoned_namespace.zrwacap = 1;
  return drive;
}

TEST(NamespaceFactsTest, RandomWriteAreasAreConvertedToBytes) {
  const auto facts = DriveWithRandomAreas()->Facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->random_area, 64U << 10);
  EXPECT_EQ(facts->random_unit, 16U << 10);
  EXPECT_EQ(facts->random_zones, 3U);
}

TEST(NamespaceFactsTest, RandomWriteAreasThatCannotBeUsedAreNone) {
  const auto area_without = [](auto change) {
    const auto drive = DriveWithRandomAreas();
    change(drive->zoned_namespace);
    return drive->Facts()->random_area;
  };
  EXPECT_EQ(area_without([](nvme_zns_id_ns& zoned) { zoned.ozcs = 0; }), 0U) << "not supported";
  EXPECT_EQ(area_without([](nvme_zns_id_ns& zoned) { zoned.zrwacap = 0; }), 0U) << "no explicit commit";
  EXPECT_EQ(area_without([](nvme_zns_id_ns& zoned) { zoned.zrwafg = 0; }), 0U);
  EXPECT_EQ(area_without([](nvme_zns_id_ns& zoned) { zoned.zrwafg = htole16(5); }), 0U) << "no multiple";
  EXPECT_EQ(area_without([](nvme_zns_id_ns& zoned) { zoned.zrwasz = 0; }), 0U);
  EXPECT_EQ(area_without([](nvme_zns_id_ns& zoned) { zoned.numzrwa = 0; }), 0U);
}

TEST(NamespaceFactsTest, FormatInUseMayHaveAnIndexAboveFifteen) {
  auto drive = std::make_unique<Drive>();
  drive->Format(18, 9, 0, (16 << 20) / 512);
  const auto facts = drive->Facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->block_size, 512U);
  EXPECT_EQ(facts->zone_size, std::uint64_t{16} << 20);
}

TEST(NamespaceFactsTest, BlocksWithMetadataAreRefusedWithTheCure) {
  auto drive = std::make_unique<Drive>();
  drive->Format(1, 12, 8, (16 << 20) / 4096);
  const auto facts = drive->Facts();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code(), Code::kNotSupported);
  EXPECT_NE(facts.error().text().find("nvme format"), std::string::npos);
}

TEST(NamespaceFactsTest, SizesThatMakeNoSenseAreCorruption) {
  auto drive = std::make_unique<Drive>();
  drive->Format(0, 40, 0, 1);
  EXPECT_EQ(drive->Facts().error().code(), Code::kCorruption);
  drive->Format(0, 12, 0, 0);
  EXPECT_EQ(drive->Facts().error().code(), Code::kCorruption);
}

TEST(NvmeNamespaceTest, NodesOfANamespaceHaveTheSameNumbers) {
  EXPECT_EQ(CharacterNodeOf("nvme0n1"), "ng0n1");
  EXPECT_EQ(BlockNodeOf("ng12n34"), "nvme12n34");
}

TEST(NvmeNamespaceTest, OtherNodesAreNotThoseOfANamespace) {
  for (const char* name :
       {"", "sda", "nvme", "nvme0", "nvme0n", "nvmen1", "nvme0n1p1", "nvme0c0n1", "ng0n1"}) {
    EXPECT_EQ(CharacterNodeOf(name), "") << name;
  }
  for (const char* name : {"", "ng", "ng0", "ngn1", "nvme0n1", "ng0n1x"})
    EXPECT_EQ(BlockNodeOf(name), "") << name;
}

TEST(NvmeNamespaceTest, ANodeThatIsNoNamespaceIsRefused) {
  const auto opened = OpenNamespace("/dev/null", O_RDONLY);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(OpenNamespace("/dev/no-such-node", O_RDONLY).error().code(), Code::kNotFound);
}

TEST(NvmeNamespaceTest, APipeOrAFileIsNotOpened) {
  const TempDirectory directory;
  const std::string pipe = directory.File("ng0n1");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const UniqueFd opens(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(opens.get(), pipe.c_str(), IN_OPEN), 0);
  // To open a pipe for both does not wait; for reading it would.
  EXPECT_EQ(OpenNamespace(pipe, O_RDWR).error().code(), Code::kInvalidArgument);
  std::array<char, 4096> event{};
  EXPECT_LT(read(opens.get(), event.data(), event.size()), 0);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace zenfs::nvme_namespace_test
