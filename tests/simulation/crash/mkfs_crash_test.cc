// Cuts the power during mkfs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

#include "device/joined_device.h"
#include "every_subset.h"
#include "metalog/probe.h"
#include "testing/borrowed_device.h"
#include "verify.h"
#include "volume/mkfs.h"
#include "workloads.h"

namespace zenfs {
namespace {

// Allowed: no file system, or an empty one that works.
std::string NothingOrEmpty(CrashDevice& image) {
  const auto mounted = MountBorrowed(image);
  if (mounted) {
    IgnoreError((*mounted)->Unmount());  // VerifyImage mounts it again and reports errors
    const Model empty;
    return VerifyImage(image, CrashKind::kPowerLost, {&empty});
  }
  // A half-made file system looks like a damaged one, not like a blank device.
  const Code code = mounted.error().code();
  if (code != Code::kNotFound && code != Code::kIo && code != Code::kCorruption) {
    return "mount: " + mounted.error().ToString();
  }
  // The remains do not prevent a new mkfs.
  const auto again = FormatVolume(image, {.label = {}, .uuid = {}, .force = true});
  if (!again) return "mkfs again: " + again.error().ToString();
  const auto mounted_again = MountBorrowed(image);
  return mounted_again ? std::string() : "mount after mkfs again: " + mounted_again.error().ToString();
}

TEST(MkfsCrash, LeavesNothingOrAMountableFileSystem) {
  for (const DeviceShape& shape : DeviceShapes()) {
    CrashDevice whole(shape.geometry);
    ASSERT_TRUE(Mkfs(whole).ok());
    for (std::uint64_t cut = 0; cut <= whole.commands(); ++cut) {
      CrashDevice device(shape.geometry);
      device.StopAfter(cut);
      const bool done = Mkfs(device).ok();
      auto [images, complete] = device.EnumerateImages(60);
      for (std::size_t i = 0; i < images.size(); ++i) {
        const std::string where = fmt::format("{}, after command {}, image {}", shape.name, cut, i);
        if (done) {
          const Model empty;
          ASSERT_EQ(VerifyImage(*images[i], CrashKind::kPowerLost, {&empty}), "") << where;
        } else {
          ASSERT_EQ(NothingOrEmpty(*images[i]), "") << where;
        }
      }
    }
  }
}

// Before the new file system is complete, the device has the complete old one or nothing mountable:
// never an earlier state of the old one, and never the old one without its data.
class ReplacedFileSystem {
 public:
  explicit ReplacedFileSystem(const Workload& work)
      : old_(RunWorkload(ShapeNamed("Plenty").geometry, work, UINT64_MAX)) {
    EXPECT_FALSE(old_.over()) << old_.WhyOver();
    old_.client->DropHandles();
    EXPECT_TRUE(old_.volume->Unmount().ok());
    EXPECT_TRUE(old_.device->Flush().ok());
  }

  static Result<FormatReport> MkfsForce(ZonedDevice& device) {
    return FormatVolume(device, {.label = {}, .uuid = {}, .force = true});
  }
  std::uint64_t Commands() const {
    const auto whole = Fresh();
    EXPECT_TRUE(MkfsForce(*whole));
    return whole->commands();
  }
  std::unique_ptr<CrashDevice> Fresh() const { return old_.device->Image(LossPolicy::KeepAll()); }

  // Empty if the image is allowed. `formatted`: mkfs had returned.
  std::string WhyNot(CrashDevice& image, bool formatted) {
    auto mounted = MountBorrowed(image);
    if (!mounted) return formatted ? mounted.error().ToString() : std::string();
    const auto found = Find(**mounted);
    if (!found) return found.error().ToString();
    if ((*mounted)->info().superblock.uuid == old_.volume->info().superblock.uuid) {
      ++mounted_old_;
      return formatted ? "the old one is mounted"
                       : old_.client->model().WhyNot(*found, CrashKind::kPowerLost);
    }
    ++mounted_new_;
    return found->empty() ? std::string() : "the new one is not empty";
  }
  void ExpectBothSeen() const {
    EXPECT_GT(mounted_old_, 0);
    EXPECT_GT(mounted_new_, 0);
  }

 private:
  WorkloadRun old_;
  int mounted_old_ = 0;
  int mounted_new_ = 0;
};

TEST(MkfsCrash, ReplacingAFileSystemLeavesTheOldOneOrNothingOrTheNewOne) {
  ReplacedFileSystem replaced(Workloads().front().work);
  for (std::uint64_t cut = 0, last = replaced.Commands(); cut <= last; ++cut) {
    const auto device = replaced.Fresh();
    device->StopAfter(cut);
    const bool formatted = ReplacedFileSystem::MkfsForce(*device).has_value();
    for (const LossPolicy loss : Losses(cut, 20)) {
      const auto image = device->Image(loss);
      ASSERT_EQ(replaced.WhyNot(*image, formatted), "") << "after command " << cut << ", " << Describe(loss);
    }
  }
  replaced.ExpectBothSeen();
}

TEST(MkfsCrash, ReplacingASmallFileSystemDoesSoWithEverySubsetOfWhatWasNotFlushed) {
  ReplacedFileSystem replaced([](WorkloadRun& run) {
    run.client->WriteFile("table.sst", 100);
    run.client->Create("log", "1.log");
    run.client->Log("log", 2, 100);
  });
  SubsetCount count;
  for (std::uint64_t cut = 0, last = replaced.Commands(); cut <= last; ++cut) {
    const auto device = replaced.Fresh();
    device->StopAfter(cut);
    const bool formatted = ReplacedFileSystem::MkfsForce(*device).has_value();
    auto [images, complete] = device->EnumerateImages(ImagesOfACut());
    ++count.cuts;
    count.complete += complete ? 1 : 0;
    count.images += images.size();
    for (std::size_t i = 0; i < images.size(); ++i) {
      ASSERT_EQ(replaced.WhyNot(*images[i], formatted), "") << "after command " << cut << ", image " << i;
    }
  }
  replaced.ExpectBothSeen();
  EXPECT_EQ(count.complete, count.cuts);
  std::cout << "mkfs --force: " << count.ToString() << "\n";
}

// mkfs of two devices, cut off after so many commands of the one or of the other: the main one has no file system, or a
// whole one whose log device is complete.
class TwoDevicesCut {
 public:
  TwoDevicesCut(std::uint64_t main_cut, std::uint64_t logs_cut) {
    main_.StopAfter(main_cut);
    logs_.StopAfter(logs_cut);
    done_ = Format(main_, logs_, false).ok();
  }
  static Status Format(ZonedDevice& main, ZonedDevice& logs, bool force) {
    const auto made = FormatTwoDevices({.main = main, .logs = logs, .main_name = "main", .logs_name = "logs"},
                                       {.force = force});
    return made ? Status() : Fail(made.error());
  }
  std::string WhyNot(const LossPolicy& loss) const {
    const auto main = main_.Image(loss);
    const auto logs = logs_.Image(loss);
    if (Mounts(*main, *logs)) return "";
    if (done_) return "it was complete and does not mount";
    if (const Status again = Format(*main, *logs, true); !again.ok())
      return "mkfs again: " + again.error().ToString();
    return Mounts(*main, *logs) ? "" : "it does not mount after mkfs again";
  }
  bool done() const { return done_; }
  const CrashDevice& main() const { return main_; }
  const CrashDevice& logs() const { return logs_; }

 private:
  static bool Mounts(CrashDevice& main, CrashDevice& logs) {
    const Result<Superblock> superblock = FindSuperblock(main);
    const Result<Superblock> of_logs = FindSuperblock(logs);
    if (!superblock || !of_logs || superblock->uuid != of_logs->uuid) return false;
    auto joined = JoinDevices(Borrow(main), Borrow(logs), of_logs->first_log_zone);
    if (!joined) return false;
    auto volume = Volume::Mount(*std::move(joined), {});
    return volume && (*volume)->Unmount().ok();
  }

  CrashDevice main_{{.zones = 12, .zone_size = 256 << 10}};
  CrashDevice logs_{{.zones = 8, .zone_size = 128 << 10}};
  bool done_ = false;
};

TEST(MkfsCrash, OfTwoDevicesLeavesNothingOrAMountableFileSystem) {
  const TwoDevicesCut whole(UINT64_MAX, UINT64_MAX);
  ASSERT_TRUE(whole.done());
  const auto check = [](std::uint64_t main_cut, std::uint64_t logs_cut) {
    const TwoDevicesCut cut(main_cut, logs_cut);
    for (const LossPolicy loss : Losses(main_cut + logs_cut, 20)) {
      ASSERT_EQ(cut.WhyNot(loss), "") << main_cut << ", " << logs_cut << ", " << Describe(loss);
    }
  };
  for (std::uint64_t cut = 0; cut <= whole.main().commands(); ++cut) check(cut, UINT64_MAX);
  for (std::uint64_t cut = 0; cut <= whole.logs().commands(); ++cut) check(UINT64_MAX, cut);
}

}  // namespace
}  // namespace zenfs
