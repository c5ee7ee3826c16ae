// What a seed means: the device, who works on it in which way, what goes wrong when. Plain values; drawing a plan
// touches nothing.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "testing/sim_scheduler.h"
#include "world/sim_device.h"

namespace zenfs {

enum class WorkKind {
  kRandom,    // any call on a few names, in any order
  kDatabase,  // what RocksDB does
  kFill,      // what keeps the device nearly full; alone
};

// From a mount to a crash, or to a clean unmount.
struct Round {
  std::uint32_t steps = 100;           // of each client
  std::uint64_t crash_after = 0;       // commands of the device since the mount
  bool unmounts = false;               // when nothing crashed until the steps were done
  std::uint32_t recovery_crashes = 0;  // so many mounts are cut off before one is let through
  std::uint64_t loss_seed = 0;         // of what is gone in the image that the next round goes on with
  std::uint32_t moves_one_in =
      0;  // of a client's steps, one in so many moves live data out of full zones; 0: none
};

struct Plan {
  std::uint64_t seed = 0;
  EmulatorGeometry geometry;
  SimScheduler::Options schedule;
  SimFaults faults;
  bool shared_memory = false;  // append buffers that outlive the process
  std::vector<WorkKind> clients;
  bool shared_names = false;  // the clients work on some together, too
  std::vector<Round> rounds;

  bool HasFaults() const;
  bool Fills() const { return clients.front() == WorkKind::kFill; }
  std::string Describe() const;  // one line
};

[[nodiscard]] Plan DrawPlan(std::uint64_t seed);

// One step of one client.
struct StepId {
  std::uint32_t round = 0;
  std::uint32_t client = 0;
  std::uint32_t step = 0;

  friend auto operator<=>(const StepId&, const StepId&) = default;
};

// What is left of a plan when a failure is shrunk: only these steps. Without a list: all.
struct Selection {
  bool all = true;
  std::set<StepId> steps;
  std::optional<std::uint64_t> crash_after;  // of the last round

  bool Has(const StepId& step) const { return all || steps.contains(step); }
  // "0.1.17,0.1.18", and back. Errors: kInvalidArgument with what could not be read.
  std::string StepsText() const;
  static Result<std::set<StepId>> ParseSteps(const std::string& text);
};

}  // namespace zenfs
