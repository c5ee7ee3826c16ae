// Replays a stream of events on a simulated device and measures it.
//
// Threads: for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulated_volume.h"
#include "trace_source.h"

namespace zenfs::space {

struct RunOptions {
  double warmup = 0;   // device writes that are not measured: multiples of the room for data
  double measure = 0;  // device writes that are measured; 0: until the end of the events
  Pace pace = Pace::kKeepsUp;
  std::uint32_t samples = 20;  // if `measure` is given
};

// One part of the measured time.
struct Sample {
  double device_writes = 0;  // since the beginning of the measured time, at its end
  double write_amplification = 1;
  double space_amplification = 1;
};

struct Measured {
  SpaceCounts counts;
  std::uint64_t events = 0;        // all, also before the measured time
  std::uint64_t files_max = 0;     // at a time
  double live_share = 0;           // mean of live bytes by the room for data
  double space_amplification = 1;  // mean of (live + dead) bytes by live bytes, in zones that are written
  bool no_space = false;           // the events ended early, because a write found no space
  std::vector<Sample> samples;
};

// Called now and then with the part that is done, from 0 to 1, if it is known.
using Progress = std::function<void(double)>;

// Errors: those of the source and of SimulatedVolume::Apply, except kNoSpace.
[[nodiscard]] Result<Measured> Run(TraceSource& source, SimulatedZones& zones, const RunOptions& options,
                                   const Progress& progress = {});

}  // namespace zenfs::space
