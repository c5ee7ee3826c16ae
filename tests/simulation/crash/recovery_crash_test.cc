// Cuts the power again while a mount recovers from a power loss.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "verify.h"
#include "workloads.h"

namespace zenfs {
namespace {

class RecoveryCrash : public testing::TestWithParam<DeviceShape> {};

// The number of commands of a mount of `image`; leaves `image` unchanged.
std::uint64_t CommandsOfMount(const CrashDevice& image) {
  const auto copy = image.Image(LossPolicy::KeepAll());
  const auto mounted = MountBorrowed(*copy);
  return mounted ? copy->commands() : 0;
}

TEST_P(RecoveryCrash, ASecondCrashLosesNothingMore) {
  for (const NamedWorkload& workload : Workloads()) {
    WorkloadRun whole = RunWorkload(GetParam().geometry, workload.work, UINT64_MAX);
    ASSERT_FALSE(whole.over()) << whole.WhyOver();
    const std::uint64_t total = whole.device->commands();
    const std::uint64_t cuts = FullRun() ? 30 : 3;
    for (std::uint64_t i = 1; i <= cuts; ++i) {
      WorkloadRun run = RunWorkload(GetParam().geometry, workload.work, total * i / (cuts + 1));
      if (run.client == nullptr) continue;
      for (const LossPolicy loss : Losses(i, FullRun() ? 2 : 1)) {
        const bool only_process = loss.kind == LossPolicy::Kind::kKeepAll;
        const auto first = run.device->Image(loss);
        const std::uint64_t commands = CommandsOfMount(*first);
        ASSERT_NE(commands, 0u);
        for (std::uint64_t m = 0; m <= commands; ++m) {
          const auto again = first->Image(LossPolicy::KeepAll());
          again->StopAfter(m);
          {
            const auto interrupted = MountBorrowed(*again);
          }
          for (const LossPolicy second :
               {LossPolicy::LoseAll(), LossPolicy::KeepAll(), LossPolicy::Random(m)}) {
            const auto image = again->Image(second);
            const bool no_power_lost = only_process && second.kind == LossPolicy::Kind::kKeepAll;
            ASSERT_EQ(VerifyImage(*image, no_power_lost ? CrashKind::kProcessDied : CrashKind::kPowerLost,
                                  {&run.client->model()}),
                      "")
                << fmt::format("{}: cut {} of {}, {}; then mount cut after {} of {}, {}", workload.name, i,
                               cuts, Describe(loss), m, commands, Describe(second));
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Crash, RecoveryCrash, testing::ValuesIn(DeviceShapes()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace zenfs
