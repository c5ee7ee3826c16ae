#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "device/joined_device.h"
#include "questions.h"
#include "zone/zone_limits.h"

namespace zenfs {
namespace {

struct FaultKind {
  const char* name;
  std::uint32_t SimFaults::* rate;
};
constexpr FaultKind kFaultKinds[] = {{"read error", &SimFaults::read_error},
                                     {"report error", &SimFaults::report_error},
                                     {"write error", &SimFaults::write_error},
                                     {"short write", &SimFaults::write_short},
                                     {"write time-out", &SimFaults::write_unknown},
                                     {"flush error", &SimFaults::flush_error},
                                     {"flush loses", &SimFaults::flush_loses},
                                     {"reset error", &SimFaults::reset_error},
                                     {"finish error", &SimFaults::finish_error},
                                     {"zone turns full", &SimFaults::zone_full},
                                     {"zone turns read-only", &SimFaults::zone_read_only},
                                     {"zone turns offline", &SimFaults::zone_offline},
                                     {"append twice", &SimFaults::append_twice}};
constexpr std::size_t kDrawnKinds =
    std::size(kFaultKinds) - 1;  // the last one is drawn with the way of the log

template <typename T, std::size_t N>
T OneOf(Random& random, const T (&choices)[N]) {
  return choices[random.Below(N)];
}

// Small zones, so that logs reach their ends, metadata log switches every few commits, and space gets
// short.
EmulatorGeometry DrawGeometry(Random& random) {
  EmulatorGeometry geometry;
  geometry.block_size = random.OneIn(5) ? 512 : 4096;
  geometry.zone_size = OneOf(random, {64u << 10, 128u << 10, 256u << 10, 512u << 10, 1024u << 10});
  geometry.zone_capacity = geometry.zone_size;
  if (geometry.zone_size > (64u << 10) && random.OneIn(2))
    geometry.zone_capacity = geometry.zone_size / 4 * 3;
  geometry.zones = static_cast<std::uint32_t>((5u << 20) / geometry.zone_capacity + 8 + random.Below(16));
  geometry.max_active = OneOf(random, {4u, 4u, 4u, 5u, 5u, 6u, 6u, 8u, 14u, 0u});
  geometry.max_open = geometry.max_active;
  if (geometry.max_active > kFewestSlots && random.OneIn(3)) {
    geometry.max_open =
        kFewestSlots + static_cast<std::uint32_t>(random.Below(geometry.max_active - kFewestSlots + 1));
  }
  if (geometry.max_active == 0 && random.OneIn(2))
    geometry.max_open = kFewestSlots + static_cast<std::uint32_t>(random.Below(10));
  if (random.OneIn(6)) geometry.conventional = static_cast<std::uint32_t>(1 + random.Below(4));
  geometry.zones += geometry.conventional;
  return geometry;
}

// Most runs have no faults, or few of one kind, because many at once hide one another.
SimFaults DrawFaults(Random& random) {
  SimFaults faults;
  if (random.OneIn(2)) faults.latency_us_max = OneOf(random, {20u, 500u, 20000u});
  if (random.OneIn(2)) return faults;
  const auto rate = [&random] { return OneOf(random, {8u, 30u, 100u, 400u}); };
  const std::uint64_t count = 1 + random.Below(3);
  for (std::uint64_t i = 0; i < count; ++i) faults.*kFaultKinds[random.Below(kDrawnKinds)].rate = rate();
  faults.zones_bad_max = static_cast<std::uint32_t>(1 + random.Below(3));
  return faults;
}

Round DrawRound(Random& random) {
  Round round;
  round.steps = OneOf(random, {10u, 40u, 120u, 250u});
  round.crash_after = random.Below(OneOf(random, {20u, 100u, 300u, 900u}));
  round.unmounts = random.OneIn(2);
  if (random.OneIn(6)) round.crash_after = UINT64_MAX;
  if (random.OneIn(3)) round.recovery_crashes = static_cast<std::uint32_t>(1 + random.Below(3));
  round.loss_seed = random.Next();
  if (random.OneIn(3)) round.moves_one_in = OneOf(random, {5u, 20u, 60u});
  return round;
}

void DrawRandomArea(Random& random, EmulatorGeometry& geometry) {
  geometry.random_unit = geometry.block_size * OneOf(random, {1u, 4u});
  geometry.random_area = geometry.random_unit * OneOf(random, {1u, 2u, 4u});
  geometry.random_zones = OneOf(random, {1u, 2u, 4u});
}

// From a stream of its own, so that the rest of a seed's plan does not depend on it.
void DrawWal(Plan& plan) {
  Random random(plan.seed * 0xd1342543de82ef95u + 1);
  if (random.OneIn(2)) DrawRandomArea(random, plan.geometry);
  if (random.OneIn(2)) return;
  plan.wal = WalSending::kAppend;
  plan.wal_depth = OneOf(random, {1u, 2u, 4u, 16u});
  if (random.OneIn(4)) plan.faults.append_twice = OneOf(random, {8u, 30u, 100u});
}

// The same, with a stream of its own.
void DrawCopies(Plan& plan) {
  Random random(plan.seed * 0x9fb21c651e98df25u + 1);
  if (random.OneIn(2)) return;
  plan.geometry.max_copy_bytes = plan.geometry.block_size * OneOf(random, {1u, 2u, 8u, 256u});
}

// The same, with a stream of its own: one zone dies, and nothing else fails.
void DrawDeadZone(Plan& plan) {
  Random random(plan.seed * 0xc2b2ae3d27d4eb4fu + 1);
  if (plan.HasFaults() || !random.OneIn(3)) return;
  plan.faults.zone_offline = OneOf(random, {8u, 30u, 100u});
  plan.faults.zones_bad_max = 1;
}

// Kills of a process whose clients flush and truncate files.
void DrawTruncations(Random& random, Plan& plan) {
  if (!Asks(Question::kTruncateAfterFlush) || !random.OneIn(12)) return;
  plan.clients = {WorkKind::kRandom};
  plan.shared_names = false;
  plan.shared_memory = true;
  plan.wal_buffer_bytes = OneOf(random, {4u << 10, 16u << 10});
  for (Round& round : plan.rounds) {
    round.unmounts = false;
    round.crash_after = random.OneIn(3) ? random.Below(100) : UINT64_MAX;
    round.loss_seed -= round.loss_seed % 3;  // the process died
  }
}

// The same, with a stream of its own.
void DrawBuffers(Plan& plan) {
  Random random(plan.seed * 0xbf58476d1ce4e5b9u + 1);
  // Creating them takes most of the time of a run with shared memory.
  plan.append_buffers = static_cast<std::uint32_t>(1 + plan.seed % 6);
  const bool small = random.OneIn(2);
  const std::uint64_t bytes = OneOf(random, {4u << 10, 16u << 10, 64u << 10});
  if (small && (!plan.shared_names || Asks(Question::kLongAppends))) plan.wal_buffer_bytes = bytes;
  DrawTruncations(random, plan);
  for (Round& round : plan.rounds) {
    if (random.OneIn(8)) round.readers_one_in = OneOf(random, {10u, 40u});
  }
}

// Zones from a few buffers up to those for which the default buffers are larger than the least.
void DrawZonesForLogs(Random& random, EmulatorGeometry& geometry) {
  geometry.block_size = 4096;
  geometry.conventional = 0;
  geometry.zone_size = OneOf(random, {256u << 10, 256u << 10, 512u << 10, 1024u << 10, 8192u << 10});
  geometry.zone_capacity = geometry.zone_size / 4 * OneOf(random, {2u, 3u, 4u, 4u});
  geometry.zones = static_cast<std::uint32_t>(12 + random.Below(12));
  if (geometry.zone_size <= (1u << 20)) return;
  // Devices with so much data take long; most have zones whose capacity is small.
  geometry.zones = static_cast<std::uint32_t>(11 + random.Below(4));
  if (!random.OneIn(4)) geometry.zone_capacity = 1u << 20;
  if (random.OneIn(2)) geometry.zone_size *= OneOf(random, {2u, 4u});
}

// The same, with a stream of its own.
void DrawManyLogs(Plan& plan) {
  constexpr std::uint64_t kBuffersMax = 16u << 20;  // bytes
  Random random(plan.seed * 0x94d049bb133111ebu + 1);
  if (!Asks(Question::kFullMount) || !random.OneIn(24)) return;
  plan.clients = {WorkKind::kLogs};
  plan.shared_names = false;
  plan.shared_memory = true;
  if (!Asks(Question::kFullMountWithBadZones) || !random.OneIn(4))
    plan.faults = {.latency_us_max = plan.faults.latency_us_max};
  DrawZonesForLogs(random, plan.geometry);
  plan.wal_buffer_bytes.reset();
  if (random.OneIn(2)) {
    plan.wal_buffer_bytes =
        OneOf(random, {4u << 10, 16u << 10, 64u << 10, 256u << 10, 1024u << 10, 2048u << 10, 8192u << 10});
  }
  MountOptions options;
  options.wal_buffer_bytes = plan.wal_buffer_bytes;
  const std::uint64_t buffer = WalBufferBytes(options, plan.geometry.zone_size);
  plan.append_buffers = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      OneOf(random, {2u, 8u, 16u, 32u}), 1, std::max<std::uint64_t>(2, kBuffersMax / buffer)));
  plan.logs = OneOf(random, {1u, 2u, 6u, 8u, 16u, 32u});
  plan.rounds.resize(2 + random.Below(6));
  for (Round& round : plan.rounds) {
    round.steps = OneOf(random, {10u, 20u, 40u});
    round.crash_after = random.OneIn(4) ? random.Below(300) : UINT64_MAX;
    round.unmounts = random.OneIn(3);
    round.recovery_crashes = random.OneIn(3) ? static_cast<std::uint32_t>(1 + random.Below(6)) : 0;
    round.loss_seed = random.Next();
    if (!random.OneIn(4)) round.loss_seed -= round.loss_seed % 3;  // the process died
  }
}

// The same, with a stream of its own: the metadata outgrows the zones that mkfs sets aside.
void DrawManyFiles(Plan& plan) {
  Random random(plan.seed * 0xa24baed4963ee407u + 1);
  if (plan.ManyLogs() || !random.OneIn(24)) return;
  plan.clients = {WorkKind::kFiles};
  plan.shared_names = false;
  plan.shared_memory = false;
  plan.wal_buffer_bytes.reset();
  plan.files_max = OneOf(random, {150u, 300u, 600u});
  if (!random.OneIn(4)) plan.faults = {.latency_us_max = plan.faults.latency_us_max};
  EmulatorGeometry& geometry = plan.geometry;
  geometry.block_size = 4096;
  geometry.conventional = 0;
  geometry.zone_capacity = OneOf(random, {64u << 10, 96u << 10, 128u << 10});
  geometry.zone_size = geometry.zone_capacity <= (64u << 10) ? 64u << 10 : 128u << 10;
  geometry.zones = static_cast<std::uint32_t>(60 + random.Below(60));
  plan.rounds.resize(2 + random.Below(3));
  for (Round& round : plan.rounds) {
    round.steps = OneOf(random, {10u, 30u, 60u});
    round.crash_after = random.OneIn(5) ? UINT64_MAX : random.Below(OneOf(random, {300u, 1000u, 3000u}));
    round.unmounts = random.OneIn(3);
    round.loss_seed = random.Next();
    round.readers_one_in = 0;
  }
}

// The zones of the second device may be smaller or larger.
void DrawZonesOfLogDevice(Random& random, Plan& plan) {
  constexpr std::uint64_t kLeast = 64 << 10;
  EmulatorGeometry& geometry = plan.geometry;
  if (geometry.conventional != 0 || !random.OneIn(2)) return;
  const std::uint64_t main = geometry.capacity();
  geometry.last_zones = plan.log_zones;
  geometry.last_capacity = std::max(kLeast, OneOf(random, {main / 4, main / 2, main * 2}));
  geometry.zone_size = std::max(geometry.zone_size, geometry.last_capacity);
  geometry.zone_capacity = main;
}

// The same, with a stream of its own.
void DrawLogDevice(Plan& plan) {
  Random random(plan.seed * 0xda942042e4dd58b5u + 1);
  if (!random.OneIn(4)) return;
  plan.log_zones =
      static_cast<std::uint32_t>(kPairZones + kFewestLogZones + plan.faults.zones_bad_max + random.Below(12));
  plan.log_max_active = OneOf(random, {4u, 4u, 5u, 8u, 14u});
  plan.geometry.zones += plan.log_zones;
  if (plan.geometry.max_active != 0) plan.geometry.max_active += plan.log_max_active;
  if (plan.geometry.max_open != 0) plan.geometry.max_open += plan.log_max_active;
  DrawZonesOfLogDevice(random, plan);
  if (plan.rounds.size() < 2) return;
  plan.copied_at = StepId{.round = static_cast<std::uint32_t>(random.Below(plan.rounds.size() - 1)),
                          .client = 0,
                          .step = static_cast<std::uint32_t>(random.Below(10))};
}

// The same, with a stream of its own: an image that was copied so that zeros became holes.
void DrawZeros(Plan& plan) {
  Random random(plan.seed * 0xe7037ed1a0b428dbu + 1);
  plan.zeros = random.OneIn(3);
}

// A drive of many small zones, whose logs are written to groups of them (LogGroup in zone/spread.h). Drawn last, with a stream of
// its own.
void DrawSmallZones(Plan& plan) {
  Random random(plan.seed * 0xff51afd7ed558ccdu + 1);
  if (plan.log_zones != 0 || !random.OneIn(8)) return;
  EmulatorGeometry& geometry = plan.geometry;
  geometry.zone_capacity = OneOf(random, {96u << 10, 96u << 10, 128u << 10, 512u << 10});
  // Metadata zones of less have no room for the extents of a file that takes half the device.
  if (plan.ManyLogs()) geometry.zone_capacity = 512u << 10;
  geometry.zone_size = geometry.zone_capacity == (96u << 10) ? 128u << 10 : geometry.zone_capacity;
  geometry.conventional = 0;
  geometry.zones = static_cast<std::uint32_t>(OneOf(random, {128u, 192u, 256u}) + random.Below(64));
  geometry.max_active = OneOf(random, {128u, 384u});
  geometry.max_open = OneOf(random, {128u, geometry.max_active});
  // In zones of fewer blocks a file would have an extent for each, too many for a commit.
  if (geometry.zone_size < (512u << 10)) plan.spread = 1;
}

}  // namespace

bool Plan::HasFaults() const {
  return std::ranges::any_of(kFaultKinds, [this](const FaultKind& kind) { return faults.*kind.rate != 0; });
}

std::uint64_t Plan::DataBytes() const { return (geometry.zones - log_zones) * geometry.capacity(); }

std::string Plan::Describe() const {
  std::string text = fmt::format(
      "{} zones of {} KiB (capacity {} KiB, blocks of {}), {} open, {} active, {} conventional; {} clients; "
      "{} rounds",
      geometry.zones, geometry.zone_size / 1024, geometry.capacity() / 1024, geometry.block_size,
      geometry.max_open, geometry.max_active, geometry.conventional, clients.size(), rounds.size());
  if (geometry.random_area != 0) {
    text += fmt::format("; random write areas of {} KiB in {} zones", geometry.random_area / 1024,
                        geometry.random_zones);
  }
  if (geometry.max_copy_bytes != 0)
    text += fmt::format("; copies of {} KiB", geometry.max_copy_bytes / 1024.0);
  if (log_zones != 0) {
    text += fmt::format("; the last {} zones on a second device, {} active there", log_zones, log_max_active);
  }
  if (geometry.last_zones != 0) text += fmt::format(", with {} KiB each", geometry.last_capacity / 1024);
  if (Fills() && !ManyLogs()) text += "; kept nearly full";
  if (ManyLogs()) text += fmt::format("; filled with {} logs", logs);
  if (files_max != 0) text += fmt::format("; up to {} small files", files_max);
  if (shared_memory) {
    text +=
        fmt::format("; {} buffers of {}", append_buffers,
                    wal_buffer_bytes ? fmt::format("{} KiB", *wal_buffer_bytes / 1024) : "the default size");
  }
  if (spread != 0) text += fmt::format("; files over {} zones", spread);
  if (shared_names) text += "; shared names";
  if (zeros) text += "; zeros are holes";
  if (wal == WalSending::kAppend) text += fmt::format("; log by {} appends", wal_depth);
  if (faults.latency_us_max != 0) text += fmt::format("; latency up to {} us", faults.latency_us_max);
  for (const FaultKind& kind : kFaultKinds) {
    if (faults.*kind.rate != 0) text += fmt::format("; {} 1 in {}", kind.name, faults.*kind.rate);
  }
  return text;
}

Plan DrawPlan(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 1);
  Plan plan;
  plan.seed = seed;
  plan.geometry = DrawGeometry(random);
  plan.schedule = SimScheduler::Options::Draw(random);
  plan.faults = DrawFaults(random);
  plan.shared_memory = random.OneIn(10);  // such a run takes as long as several others
  const std::uint64_t clients = 1 + random.Below(4);
  for (std::uint64_t i = 0; i < clients; ++i) {
    plan.clients.push_back(random.OneIn(3) ? WorkKind::kDatabase : WorkKind::kRandom);
  }
  const std::uint64_t rounds = 1 + random.Below(4);
  for (std::uint64_t i = 0; i < rounds; ++i) plan.rounds.push_back(DrawRound(random));
  plan.shared_names = clients > 1 && random.OneIn(3);
  if (random.OneIn(6)) {
    plan.clients = {WorkKind::kFill};
    plan.shared_names = false;
    for (Round& round : plan.rounds) {
      if (round.crash_after != UINT64_MAX)
        round.crash_after += round.steps;  // usually after the device is full
    }
  }
  DrawBuffers(plan);
  DrawManyLogs(plan);
  DrawManyFiles(plan);
  DrawWal(plan);
  DrawCopies(plan);
  DrawDeadZone(plan);
  DrawLogDevice(plan);
  DrawZeros(plan);
  DrawSmallZones(plan);
  return plan;
}

std::string Selection::StepsText() const {
  std::string text;
  for (const StepId& id : steps) {
    text += fmt::format("{}{}.{}.{}", text.empty() ? "" : ",", id.round, id.client, id.step);
  }
  return text;
}

Result<std::set<StepId>> Selection::ParseSteps(const std::string& text) {
  std::set<StepId> steps;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& value, bool last) {
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next == end) != last) return false;
    at = next + (last ? 0 : 1);
    return true;
  };
  while (at < end) {
    StepId id;
    const char* const comma = std::find(at, end, ',');
    const bool is_last = comma == end;
    if (!number(id.round, false) || !number(id.client, false) || !number(id.step, is_last)) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("'{}' is no list of steps; steps look like 0.1.17,0.2.3 (round, client, step)", text));
    }
    steps.insert(id);
  }
  return steps;
}

}  // namespace zenfs
