// Two devices in memory with a volume, which can be copied at any moment, for tests of pairs.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "device/joined_device.h"
#include "device/read_only_view.h"
#include "metalog/pair_zones.h"
#include "metalog/probe.h"
#include "testing/borrowed_device.h"
#include "testing/crash_device.h"
#include "volume/mkfs.h"
#include "volume/volume.h"
#include "volume/volume_test_util.h"

namespace zenfs {

using OneOfPair = std::shared_ptr<CrashDevice>;

class DevicePair {
 public:
  static constexpr EmulatorGeometry kMain = {
      .zones = 16, .zone_size = 256 << 10, .max_open = 8, .max_active = 8};
  // Zones of another size.
  static constexpr EmulatorGeometry kLogs = {
      .zones = 8, .zone_size = 128 << 10, .max_open = 5, .max_active = 5};

  DevicePair() : main(std::make_shared<CrashDevice>(kMain)), logs(std::make_shared<CrashDevice>(kLogs)) {
    main->SetIdentity("memory:main");
    logs->SetIdentity("memory:logs");
    const auto made = FormatTwoDevices(
        {.main = *main, .logs = *logs, .main_name = "emu:/main.img", .logs_name = "emu:/logs.img"}, {});
    EXPECT_TRUE(IsOk(made));
  }
  DevicePair(OneOfPair its_main, OneOfPair its_logs) : main(std::move(its_main)), logs(std::move(its_logs)) {}

  static OneOfPair CopyOf(const CrashDevice& device) { return device.Image(LossPolicy::KeepAll()); }
  DevicePair Copy() const { return {CopyOf(*main), CopyOf(*logs)}; }

  std::unique_ptr<ZonedDevice> Joined() const {
    auto joined = JoinDevices(Borrow(*main), Borrow(*logs), ZoneId(2));
    EXPECT_TRUE(IsOk(joined));
    return *std::move(joined);
  }
  Result<std::shared_ptr<Volume>> Mount() const {
    return Volume::Mount(Joined(), {.flush_directory = "none"});
  }
  Result<std::shared_ptr<Volume>> MountReader() const {
    return Volume::Mount(*JoinDevices(MakeReadOnlyView(*main), MakeReadOnlyView(*logs), ZoneId(2)), {});
  }

  // A mount that writes a synced log of this name.
  void Session(const std::string& log) const {
    const auto volume = Mount();
    ASSERT_TRUE(IsOk(volume));
    EXPECT_TRUE(IsOk(PutFile(**volume, log, log)));
    EXPECT_TRUE(IsOk((*volume)->Unmount()));
  }
  // The same, and the process dies.
  void Killed(const std::string& log) {
    const auto volume = Mount();
    ASSERT_TRUE(IsOk(volume));
    EXPECT_TRUE(IsOk(PutFile(**volume, log, log)));
    Die();
    IgnoreError((*volume)->Unmount());
  }
  // The devices as they are now take the places of these, which fail from now on.
  void Die() {
    DevicePair copy = Copy();
    main->StopAfter(0);
    logs->StopAfter(0);
    dead_.push_back(std::exchange(main, copy.main));
    dead_.push_back(std::exchange(logs, copy.logs));
  }

  OneOfPair main;
  OneOfPair logs;

 private:
  std::vector<OneOfPair> dead_;
};

}  // namespace zenfs
