// Emulated devices in files, and search places instead of those of this host.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "discovery/known_devices.h"
#include "metalog/metalog.h"
#include "testing/temp_directory.h"

namespace zenfs {

class DiscoveryTest : public testing::Test {
 protected:
  DiscoveryTest() {
    places_.sysfs = directory_.File("no-sysfs");
    places_.mountinfo = directory_.File("no-mountinfo");
  }

  // Makes an emulated device of empty zones. Returns its path.
  std::string MakeDevice(const std::string& name, std::uint32_t conventional = 0) {
    const EmulatorGeometry geometry{.zones = 8, .zone_size = 1 << 20, .conventional = conventional};
    const Status made = CreateEmulatedFile(directory_.File(name), geometry, false);
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return directory_.File(name);
  }
  // Makes an emulated device with a ZenFS. Returns its path.
  std::string MakeVolume(const std::string& name, const Uuid& uuid, const std::string& label = "") {
    const std::string path = MakeDevice(name);
    const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    const Geometry& geometry = (*device)->geometry();
    const Superblock superblock{.uuid = uuid,
                                .seed = uuid,
                                .label = label,
                                .block_size = geometry.block_size,
                                .zone_size = geometry.zone_size,
                                .zone_count = geometry.zone_count,
                                .metadata_zones = {ZoneId(0), ZoneId(1)}};
    const Status made = Metalog::Format(**device, superblock, {});
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return path;
  }
  // Writes these bytes at the start of its first zone.
  void Write(const std::string& path, std::string_view bytes) {
    const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    AlignedBuffer block(4096);
    block.Append(AsBytes(bytes));
    block.PadTo(4096);
    EXPECT_TRUE((*device)->Write(DeviceOffset(0), block.View()).ok());
  }
  static KnownDevice Emulated(const std::string& path) {
    return {.uri = {.kind = "emu", .target = path, .options = {}}, .block = {}, .used_by = {}};
  }
  void List(const std::string& path) {
    places_.lists.variable += (places_.lists.variable.empty() ? "" : ":") + path;
  }

  TempDirectory directory_;
  SearchPlaces places_;
};

}  // namespace zenfs
