// zenfs_device_timing: drives an emulated device with a timing profile and compares what comes out with what was measured
// on drives (docs/use/timing.md).
//
//   --seconds S     of each load (0.15)
//   --attempts N    a load that is off is run again, at most so often; each figure's nearest attempt counts (5)
//   --only TEXT     only the loads whose name contains TEXT
//   --directory D   where the emulated file is made; a tmpfs (/dev/shm)
//   --model         the model alone, in virtual time
//   --json          one object a figure
//
// It asks for real-time priority, so that other programs on the host do not count; without the right to have it, it goes on,
// and a busy host may spoil the figures.
//
// Exit status: 0 if each figure is within 15 %, or of a command alone later by what the host itself takes for one; 1 if not, 2
// if it could not be measured.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "device_driver.h"
#include "virtual_driver.h"

namespace zenfs {
namespace {

struct Settings {
  double seconds = 0.15;
  unsigned attempts = 5;
  std::string only;
  std::string directory = "/dev/shm";
  bool model = false;
  bool json = false;
};

struct Figure {
  const Experiment* experiment;
  DriveFigure expected;
  double value = 0;
  bool checked = true;
  double host_us = 0;  // how much later than the drive the host may be

  double ratio() const { return value / expected.value; }
  bool fits() const {
    const double early = expected.value * (1 - kTolerance);
    const double late = expected.value * (1 + kTolerance) + host_us;
    return !checked || (value >= early && value <= late);
  }
};

// A tail of real time is the host's as much as the device's.
bool IsChecked(const Settings& settings, Statistic statistic) {
  return settings.model || statistic != Statistic::kP99;
}

void Print(const Settings& settings, const Figure& figure) {
  const std::string unit = UnitOf(figure.expected.statistic);
  const std::string statistic = NameOf(figure.expected.statistic);
  if (settings.json) {
    const nlohmann::json object = {{"load", figure.experiment->name},
                                   {"statistic", statistic},
                                   {"unit", unit},
                                   {"value", figure.value},
                                   {"measured_on_drive", figure.expected.value},
                                   {"ratio", figure.ratio()},
                                   {"checked", figure.checked},
                                   {"within", figure.fits()}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{:<50} {:<13} {:>10.2f} {:>10.2f} {:<5} {:>6.3f}{}\n", figure.experiment->name, statistic,
               figure.value, figure.expected.value, unit, figure.ratio(),
               figure.fits() ? (figure.checked ? "" : "  (not held to)") : "  OFF");
  }
  std::fflush(stdout);
}

// Of commands beside others the host's time is hidden behind the device's.
bool IsAlone(const Experiment& experiment, Statistic statistic) {
  return experiment.load.in_flight == 1 && UnitOf(statistic) == "us";
}

bool RunOne(const Settings& settings, Driver& driver, double host_us, const Experiment& experiment) {
  std::vector<Figure> figures;
  for (const DriveFigure& expected : experiment.expected) {
    figures.push_back({&experiment, expected, NAN, IsChecked(settings, expected.statistic),
                       IsAlone(experiment, expected.statistic) ? host_us : 0});
  }
  const auto fits = [&figures] { return std::ranges::all_of(figures, &Figure::fits); };
  for (unsigned attempt = 0; attempt < settings.attempts && (attempt == 0 || !fits()); ++attempt) {
    LoadOutcome outcome = driver.Run(experiment, settings.seconds);
    for (Figure& figure : figures) {
      const double value = Compute(figure.expected.statistic, experiment.load, outcome);
      const double off = std::abs(value / figure.expected.value - 1);
      if (attempt == 0 || off < std::abs(figure.ratio() - 1)) figure.value = value;
    }
  }
  for (const Figure& figure : figures) Print(settings, figure);
  return fits();
}

void TakeRealTimePriority() {
  const sched_param lowest{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0) return;
  fmt::print(stderr, "without real-time priority (root or CAP_SYS_NICE has it): other programs count too\n");
}

int Run(const Settings& settings) {
  if (!settings.model) TakeRealTimePriority();
  const std::unique_ptr<Driver> driver = settings.model
                                             ? std::unique_ptr<Driver>(new VirtualDriver(1))
                                             : std::unique_ptr<Driver>(new DeviceDriver(settings.directory));
  if (!settings.json) {
    fmt::print("{:<50} {:<13} {:>10} {:>10} {:<5} {:>6}\n", "load", "figure", "here", "drive", "", "ratio");
  }
  const double host_us = driver->HostMicroseconds();
  int off = 0;
  for (const Experiment& experiment : AllExperiments()) {
    if (experiment.name.find(settings.only) == std::string::npos) continue;
    if (!RunOne(settings, *driver, host_us, experiment)) ++off;
  }
  if (off != 0)
    fmt::print(stderr, "{} loads are off by more than {:.0f} % and the host's {:.2f} us\n", off,
               kTolerance * 100, host_us);
  return off == 0 ? 0 : 1;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  zenfs::Settings settings;
  CLI::App app("Compares an emulated device with measurements of drives");
  app.add_option("--seconds", settings.seconds, "Length of each load");
  app.add_option("--attempts", settings.attempts, "How often a load may be run");
  app.add_option("--only", settings.only, "Only loads whose name contains this");
  app.add_option("--directory", settings.directory, "Where the emulated file is made");
  app.add_flag("--model", settings.model, "The model alone, in virtual time");
  app.add_flag("--json", settings.json, "One JSON object a figure");
  CLI11_PARSE(app, argc, argv);
  return zenfs::Run(settings);
}
