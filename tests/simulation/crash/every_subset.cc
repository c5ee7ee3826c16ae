#include "every_subset.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;

std::vector<const Expectation*> ModelsOf(const WorkloadRun& run) {
  std::vector<const Expectation*> models;
  for (const auto& client : run.beside) models.push_back(&client->model());
  if (models.empty()) models.push_back(&run.client->model());
  return models;
}

// Checks all images of the device after `cut` commands of the operation. Empty if all are well.
std::string VerifyCut(const WorkloadRun& run, std::size_t limit, SubsetCount& count) {
  const std::vector<const Expectation*> models = ModelsOf(run);
  auto [images, complete] = run.device->EnumerateImages(limit);
  ++count.cuts;
  count.complete += complete ? 1 : 0;
  count.images += images.size();
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::string why = VerifyImage(*images[i], CrashKind::kPowerLost, models);
    if (!why.empty())
      return fmt::format("image {} of {}: {}{}", i, images.size(), why, run.client->History(6));
  }
  return {};
}

}  // namespace

std::string SubsetCount::ToString() const {
  return fmt::format("{} cuts, {} of them complete, {} images", cuts, complete, images);
}

SubsetCount VerifyEverySubset(const EmulatorGeometry& geometry, const CutOperation& operation,
                              std::size_t limit) {
  SubsetCount count;
  for (std::uint64_t cut = 0;; ++cut) {
    WorkloadRun run = RunWorkload(geometry, operation.before, kNever);
    if (!run.over() && !run.device->Flush().ok()) run.error = "flush";
    if (run.over()) {
      count.error = "before the operation: " + run.WhyOver();
      return count;
    }
    run.device->StopAfter(run.device->commands() + cut);
    operation.work(run);
    const bool whole = !run.device->stopped();
    if (whole && run.over()) {
      count.error = "fails without a crash: " + run.WhyOver();
      return count;
    }
    if (const std::string why = VerifyCut(run, limit, count); !why.empty()) {
      count.error = fmt::format("after command {}: {}", cut, why);
      return count;
    }
    if (whole) return count;
  }
}

std::size_t ImagesOfACut() { return FullRun() ? 50'000 : 5'000; }

bool Await(WorkloadRun& run, const std::function<bool()>& condition) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (!condition() && !run.device->stopped()) {
    if (deadline.Passed()) return false;
    SleepUntil(SteadyNow() + std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace zenfs
