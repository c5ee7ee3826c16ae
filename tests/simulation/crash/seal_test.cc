// Cuts the power while a mount seals the logs that an earlier crash left, after every command and
// with every subset of the unflushed data. What a mount has once shown must stay.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

#include "every_subset.h"

namespace zenfs {
namespace {

struct Sealing {
  SubsetCount count;

  // Checks `image`; empty if all is well. `shown`: the contents that the interrupted mount showed,
  // if it had returned.
  static std::string Verify(CrashDevice& image, const Model& model, const FoundTree* shown) {
    if (shown != nullptr) {
      const auto mounted = MountBorrowed(image);
      if (!mounted) return "mount: " + mounted.error().ToString();
      const auto found = Find(**mounted);
      if (!found) return "read: " + found.error().ToString();
      if (const std::string why = Difference(*shown, *found); !why.empty())
        return "no longer as shown: " + why;
    }
    return VerifyImage(image, CrashKind::kPowerLost, {&model});
  }

  // Mounts `left` and cuts that mount off after each command.
  void CutMountOf(const CrashDevice& left, const Model& model, std::size_t limit) {
    for (std::uint64_t cut = 0; count.error.empty(); ++cut) {
      const auto device = left.Image(LossPolicy::KeepAll());
      device->StopAfter(cut);
      const auto mounted = MountBorrowed(*device);
      const auto shown = mounted ? Find(**mounted) : Result<FoundTree>(Fail(Code::kIo, "not mounted"));
      const bool whole = !device->stopped();
      auto [images, complete] = device->EnumerateImages(limit);
      ++count.cuts;
      count.complete += complete ? 1 : 0;
      count.images += images.size();
      for (std::size_t i = 0; i < images.size() && count.error.empty(); ++i) {
        const std::string why = Verify(*images[i], model, shown ? &*shown : nullptr);
        if (!why.empty()) count.error = fmt::format("after command {}, image {}: {}", cut, i, why);
      }
      if (whole) return;
    }
  }
};

// Frames of two logs, some synced, some only sent to the device, which may be kept or lost.
WorkloadRun CrashedWriter(const EmulatorGeometry& geometry) {
  return RunWorkload(
      geometry,
      [](WorkloadRun& run) {
        for (const char* log : {"1.log", "2.log"}) {
          run.client->Create(log, log);
          run.client->Log(log, 2, 100);
        }
        run.client->Append("1.log", 100);
        run.client->Flush("1.log");
        run.client->Append("2.log", 100);
        run.client->Flush("2.log");
      },
      UINT64_MAX);
}

class SealOfLogs : public testing::TestWithParam<DeviceShape> {};

TEST_P(SealOfLogs, KeepsWhatWasSyncedAndWhatAMountHasShown) {
  const WorkloadRun run = CrashedWriter(GetParam().geometry);
  ASSERT_FALSE(run.over()) << run.WhyOver();
  Sealing sealing;
  // The process died: its unflushed writes are in the device's cache, and the seal must not become
  // durable before them.
  sealing.CutMountOf(*run.device->Image(LossPolicy::KeepAll()), run.client->model(), ImagesOfACut());
  ASSERT_EQ(sealing.count.error, "");
  // Power was lost.
  auto [images, complete] = run.device->EnumerateImages(ImagesOfACut());
  EXPECT_TRUE(complete);
  const std::size_t stride = FullRun() ? 1 : std::max<std::size_t>(1, images.size() / 8);
  for (std::size_t i = 0; i < images.size(); i += stride) {
    sealing.CutMountOf(*images[i], run.client->model(), ImagesOfACut());
    ASSERT_EQ(sealing.count.error, "") << "image " << i << " of " << images.size() << " of the first crash";
  }
  EXPECT_EQ(sealing.count.complete, sealing.count.cuts);
  std::cout << "Seal_" << GetParam().name << ": " << sealing.count.ToString() << "\n";
}

INSTANTIATE_TEST_SUITE_P(Crash, SealOfLogs, testing::Values(ShapeNamed("Plenty"), ShapeNamed("FourActive")),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace zenfs
