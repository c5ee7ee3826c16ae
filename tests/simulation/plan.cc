#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "device/joined_device.h"
#include "zone/slot_plan.h"

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

// The same, with a stream of its own.
void DrawLogDevice(Plan& plan) {
  Random random(plan.seed * 0xda942042e4dd58b5u + 1);
  if (!random.OneIn(4)) return;
  plan.log_zones = static_cast<std::uint32_t>(kFewestLogZones + plan.faults.zones_bad_max + random.Below(12));
  plan.log_max_active = OneOf(random, {4u, 4u, 5u, 8u, 14u});
  plan.geometry.zones += plan.log_zones;
  if (plan.geometry.max_active != 0) plan.geometry.max_active += plan.log_max_active;
  if (plan.geometry.max_open != 0) plan.geometry.max_open += plan.log_max_active;
}

}  // namespace

bool Plan::HasFaults() const {
  return std::ranges::any_of(kFaultKinds, [this](const FaultKind& kind) { return faults.*kind.rate != 0; });
}

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
  if (Fills()) text += "; kept nearly full";
  if (shared_names) text += "; shared names";
  if (shared_memory) text += "; shared memory";
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
  DrawWal(plan);
  DrawCopies(plan);
  DrawDeadZone(plan);
  DrawLogDevice(plan);
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
