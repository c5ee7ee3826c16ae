// The meaning of a seed: the device, its clients and their work, the faults and their times. Plain
// values; drawing a plan has no side effects.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "open/mount_options.h"
#include "testing/sim_scheduler.h"
#include "world/sim_device.h"

namespace zenfs {

enum class WorkKind {
  kRandom,    // any call on a few names, in any order
  kDatabase,  // the file operations of RocksDB
  kFill,      // keeps the device nearly full, as its only client
  kLogs,      // many logs and tables on a device that is soon full, as its only client
  kFiles,     // many small files on a device of small zones, as its only client
};

// The time from a mount to a crash or a clean unmount.
struct Round {
  std::uint32_t steps = 100;           // per client
  std::uint64_t crash_after = 0;       // device commands since the mount
  bool unmounts = false;               // unmounts after the steps, if there was no crash
  std::uint32_t recovery_crashes = 0;  // number of mounts cut off before one may complete
  std::uint64_t loss_seed = 0;         // determines the losses in the image for the next round
  std::uint32_t moves_one_in =
      0;  // one in so many steps of a client moves live data out of full zones; 0: none
  std::uint32_t readers_one_in =
      0;  // one in so many steps of a client reads through a read-only mount; 0: none
};

// One step of one client.
struct StepId {
  std::uint32_t round = 0;
  std::uint32_t client = 0;
  std::uint32_t step = 0;

  friend auto operator<=>(const StepId&, const StepId&) = default;
};

struct Plan {
  std::uint64_t seed = 0;
  EmulatorGeometry geometry;
  // The last zones, and so many of the limits of open and active zones, are those of a second device for logs,
  // with those of the pair key; 0: none.
  std::uint32_t log_zones = 0;
  std::uint32_t log_max_active = 0;
  std::optional<std::uint64_t> wal_buffer_bytes;  // MountOptions
  std::uint32_t spread = 0;                       // MountOptions
  std::uint32_t append_buffers = 1;
  std::uint32_t logs = 0;       // that a client of kind kLogs keeps open
  std::uint32_t files_max = 0;  // of a client of kind kFiles
  SimScheduler::Options schedule;
  SimFaults faults;
  bool shared_memory = false;  // append buffers in shared memory
  WalSending wal = WalSending::kAuto;
  std::uint32_t wal_depth = 16;
  std::vector<WorkKind> clients;
  // All devices are copied at this step of the first client; the copies are used after a later mount.
  std::optional<StepId> copied_at;
  bool shared_names = false;  // the clients also share some names
  bool zeros = false;  // some contents have long runs of zeros, and the device knows its blocks of zeros
  std::vector<Round> rounds;

  bool HasFaults() const;
  bool Fills() const { return clients.front() == WorkKind::kFill || clients.front() == WorkKind::kLogs; }
  bool ManyLogs() const { return clients.front() == WorkKind::kLogs; }
  std::uint64_t DataBytes() const;  // of all zones that are not the log's
  std::string Describe() const;     // one line
};

[[nodiscard]] Plan DrawPlan(std::uint64_t seed);

// The part of a plan that is left when a failure is shrunk: only these steps; without a list, all.
struct Selection {
  bool all = true;
  std::set<StepId> steps;
  std::optional<std::uint64_t> crash_after;  // of the last round

  bool Has(const StepId& step) const { return all || steps.contains(step); }
  // Format: "0.1.17,0.1.18". Errors of the parser: kInvalidArgument with the invalid part.
  std::string StepsText() const;
  static Result<std::set<StepId>> ParseSteps(const std::string& text);
};

}  // namespace zenfs
