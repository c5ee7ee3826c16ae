// The model against every number that was measured on a drive, in virtual time.
#include <gtest/gtest.h>

#include "experiment.h"
#include "virtual_driver.h"

namespace zenfs {
namespace {

class Model : public testing::TestWithParam<Experiment> {};

TEST_P(Model, ReproducesWhatWasMeasured) {
  constexpr double kSeconds = 2;
  const Experiment& experiment = GetParam();
  for (const std::uint64_t seed : {1, 2, 3}) {
    LoadOutcome outcome = VirtualDriver(seed).Run(experiment, kSeconds);
    for (const DriveFigure& expected : experiment.expected) {
      const double value = Compute(expected.statistic, experiment.load, outcome);
      EXPECT_NEAR(value / expected.value, 1, kTolerance)
          << experiment.name << ", " << NameOf(expected.statistic) << ": " << value << ", measured was "
          << expected.value << " " << UnitOf(expected.statistic);
    }
  }
}

std::string NameOfCase(const testing::TestParamInfo<Experiment>& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != ' '; });
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Model, testing::ValuesIn(AllExperiments()), NameOfCase);

}  // namespace
}  // namespace zenfs
