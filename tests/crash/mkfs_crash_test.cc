// Power is lost while a file system is made.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testing/borrowed_device.h"
#include "verify.h"
#include "volume/format_volume.h"
#include "workloads.h"

namespace zenfs {
namespace {

// Nothing, or a file system that is empty and works.
std::string NothingOrEmpty(CrashDevice& image) {
  const auto mounted = MountBorrowed(image);
  if (mounted) {
    IgnoreError((*mounted)->Unmount());  // VerifyImage mounts it again, and says what is wrong with it
    const Model empty;
    return VerifyImage(image, CrashKind::kPowerLost, {&empty});
  }
  // Half a file system looks like a damaged one, which is not to be taken for a blank device.
  const Code code = mounted.error().code();
  if (code != Code::kNotFound && code != Code::kIo && code != Code::kCorruption) {
    return "mount: " + mounted.error().ToString();
  }
  // What is left is no obstacle to making one after all.
  const auto again = FormatVolume(image, {.label = {}, .uuid = {}, .force = true});
  if (!again) return "mkfs again: " + again.error().ToString();
  const auto mounted_again = MountBorrowed(image);
  return mounted_again ? std::string() : "mount after mkfs again: " + mounted_again.error().ToString();
}

TEST(MkfsCrash, LeavesNothingOrAMountableFileSystem) {
  for (const DeviceShape& shape : DeviceShapes()) {
    CrashDevice whole(shape.geometry);
    ASSERT_TRUE(Mkfs(whole));
    for (std::uint64_t cut = 0; cut <= whole.commands(); ++cut) {
      CrashDevice device(shape.geometry);
      device.StopAfter(cut);
      const bool done = Mkfs(device).has_value();
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

// What is found before the new one is complete is the old one, whole, or nothing that can be mounted: never an earlier
// state of the old one, nor one without its data.
TEST(MkfsCrash, ReplacingAFileSystemLeavesTheOldOneOrNothingOrTheNewOne) {
  const DeviceShape shape = ShapeNamed("Plenty");
  WorkloadRun old = RunWorkload(shape.geometry, Workloads().front().work, UINT64_MAX);
  ASSERT_FALSE(old.over()) << old.WhyOver();
  old.client->DropHandles();
  ASSERT_TRUE(old.volume->Unmount());
  const Uuid old_uuid = old.volume->superblock().uuid;
  const auto before = old.device->Image(LossPolicy::KeepAll());
  const auto whole = before->Image(LossPolicy::KeepAll());
  ASSERT_TRUE(FormatVolume(*whole, {.label = {}, .uuid = {}, .force = true}));
  int mounted_new = 0;
  for (std::uint64_t cut = 0; cut <= whole->commands(); ++cut) {
    const auto device = before->Image(LossPolicy::KeepAll());
    device->StopAfter(cut);
    const auto formatted = FormatVolume(*device, {.label = {}, .uuid = {}, .force = true});
    for (const LossPolicy loss : Losses(cut, 20)) {
      const auto image = device->Image(loss);
      auto mounted = MountBorrowed(*image);
      const std::string where = fmt::format("after command {}, {}", cut, Describe(loss));
      if (!mounted) {
        ASSERT_FALSE(formatted) << where << ": " << mounted.error().ToString();
      } else if ((*mounted)->superblock().uuid == old_uuid) {
        ASSERT_FALSE(formatted) << where;
        const auto found = Find(**mounted);
        ASSERT_TRUE(found) << where;
        ASSERT_EQ(old.client->model().WhyNot(*found, CrashKind::kPowerLost), "") << where;
      } else {
        ++mounted_new;
        ASSERT_TRUE(Find(**mounted)->empty()) << where;
      }
    }
  }
  EXPECT_GT(mounted_new, 0);
}

}  // namespace
}  // namespace zenfs
