// What a timing profile has to reproduce: loads on a device, and what was measured of them on real drives. A load is run
// by a driver, which has either a model of the device's time or a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/emulator/timing.h"

namespace zenfs {

inline constexpr std::uint64_t kKib = 1 << 10;
inline constexpr std::uint64_t kMib = 1 << 20;

// The shape of the drive that was measured.
inline constexpr std::uint64_t kZoneSize = 2048 * kMib;
inline constexpr std::uint64_t kZoneCapacity = 1077 * kMib;
inline constexpr std::uint64_t kBackgroundWrite = 128 * kKib;

struct Load {
  TimedCommand::Kind kind = TimedCommand::Kind::kRead;
  std::uint64_t bytes = 4096;   // of a command; of a reset or finish: what the zone holds
  std::uint32_t in_flight = 1;  // at any time; writes each in a zone of its own, appends all in one
  // Beside it. Writes of kBackgroundWrite to one zone; more than the drive takes: one after another.
  double write_mib_per_second = 0;
  double resets_per_second = 0;  // of full zones
  bool finishing = false;        // zones with one block in them, one after another
};

struct LoadOutcome {
  std::vector<double> latencies_us;
  double seconds = 0;
  std::uint64_t background_bytes = 0;
};

enum class Statistic {
  kMean,  // microseconds, as the quantiles
  kP50,
  kP95,
  kP99,
  kPerSecond,   // commands, thousands
  kBandwidth,   // MiB/s
  kBackground,  // MiB/s of the writes beside it
  kGibTakes,    // seconds
};
std::string NameOf(Statistic statistic);
std::string UnitOf(Statistic statistic);
double Compute(Statistic statistic, const Load& load, LoadOutcome& outcome);

struct DriveFigure {
  Statistic statistic;
  double value;  // measured on the drive
};

struct Experiment {
  std::string name;
  Timing profile;
  Load load;
  std::vector<DriveFigure> expected;
};

// All of device-timing's tables, row by row.
std::vector<Experiment> AllExperiments();

inline constexpr double kTolerance = 0.15;

class Driver {
 public:
  virtual ~Driver() = default;
  // Runs the load for `seconds` of the device's time (resets, finishes, opens and closes a few times instead) and
  // returns what came after its start had passed.
  virtual LoadOutcome Run(const Experiment& experiment, double seconds) = 0;
  // What the host takes for a command that asks nothing of the device: a slow one is later than the drive by that.
  virtual double HostMicroseconds() { return 0; }
};

}  // namespace zenfs
