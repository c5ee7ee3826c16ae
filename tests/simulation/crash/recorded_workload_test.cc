// Cuts the power after every device command of a workload (a sample of them, unless ZENFS_FULL=1).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "verify.h"
#include "workloads.h"

namespace zenfs::recorded_workload_test {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;
constexpr std::uint64_t kCutsPerWorkload = 150;

struct Case {
  DeviceShape shape;
  NamedWorkload workload;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const DeviceShape& shape : DeviceShapes()) {
    for (const NamedWorkload& workload : Workloads()) cases.push_back({shape, workload});
  }
  return cases;
}

class RecordedWorkload : public testing::TestWithParam<Case> {
 protected:
  // Checks a power loss after `cut` commands, with several choices of lost data. Empty if all is
  // well.
  std::string CutAfter(std::uint64_t cut, int random_losses) {
    WorkloadRun run = RunWorkload(GetParam().shape.geometry, GetParam().workload.work, cut);
    if (run.over() && !run.device->stopped()) return "fails without a crash: " + run.WhyOver();
    for (const LossPolicy loss : Losses(cut, random_losses)) {
      std::string why;
      if (run.client != nullptr) {
        why = Verify(*run.device, loss, {&run.client->model()});
      } else if (run.formatted) {
        const Model empty;
        why = Verify(*run.device, loss, {&empty});
      }
      if (!why.empty()) return Describe(loss) + ": " + why;
    }
    return {};
  }
};

TEST_P(RecordedWorkload, NothingSyncedIsLostWhereverItIsCutOff) {
  WorkloadRun whole = RunWorkload(GetParam().shape.geometry, GetParam().workload.work, kNever);
  ASSERT_FALSE(whole.over()) << whole.WhyOver();
  const std::uint64_t total = whole.device->commands();
  for (const LossPolicy loss : Losses(0, 2)) {
    const std::string why = Verify(*whole.device, loss, {&whole.client->model()});
    ASSERT_EQ(why, "") << Describe(loss) << ", after the whole workload";
  }
  const std::uint64_t stride = FullRun() ? 1 : std::max<std::uint64_t>(1, total / kCutsPerWorkload);
  // The first cut differs between devices, so that together they cover more cuts.
  for (std::uint64_t cut = GetParam().shape.name.size() % stride; cut < total; cut += stride) {
    ASSERT_EQ(CutAfter(cut, FullRun() ? 4 : 1), "") << "after command " << cut << " of about " << total;
  }
}

INSTANTIATE_TEST_SUITE_P(Crash, RecordedWorkload, testing::ValuesIn(Cases()), [](const auto& each) {
  return each.param.shape.name + "_" + each.param.workload.name;
});

}  // namespace
}  // namespace zenfs::recorded_workload_test
