#include "zone_load.h"

#include <cmath>

namespace zenfs {
namespace {

using Kind = TimedCommand::Kind;

Status Manage(ZonedDevice& device, Kind kind, ZoneId zone) {
  switch (kind) {
    case Kind::kReset: return device.Reset(zone);
    case Kind::kFinish: return device.Finish(zone);
    case Kind::kOpen: return device.Open(zone);
    case Kind::kClose: return device.Close(zone);
    case Kind::kFlush: return device.Flush();
    case Kind::kRead:
    case Kind::kWrite:
    case Kind::kAppend: break;
  }
  return {};
}

}  // namespace

Result<LoadOutcome> ManageZones(ZonedDevice& device, const Load& load) {
  LoadOutcome outcome;
  // A finish of much is long, and the same each time.
  const std::uint32_t commands = load.kind == Kind::kFinish && load.bytes != 0 ? 1 : kManagedZones;
  for (std::uint32_t i = 0; i < commands; ++i) {
    if (load.kind == Kind::kClose) ZENFS_RETURN_IF_ERROR(device.Open(ZoneId(i)));
    const SteadyTime begin = SteadyNow();
    ZENFS_RETURN_IF_ERROR(Manage(device, load.kind, ZoneId(i)));
    outcome.latencies_us.push_back(std::chrono::duration<double, std::micro>(SteadyNow() - begin).count());
  }
  outcome.seconds = 1;
  return outcome;
}

ZoneLoad::ZoneLoad(ZonedDevice& device, const Load& load)
    : device_(device), load_(load), thread_("zone-manager", [this] { Run(); }) {}

ZoneLoad::~ZoneLoad() { stop_.store(true, std::memory_order_relaxed); }

void ZoneLoad::Run() {
  SteadyTime next = SteadyNow();
  for (std::uint32_t turn = 0; !stop_.load(std::memory_order_relaxed); ++turn) {
    if (!Next(turn).ok()) return;
    if (load_.resets_per_second == 0) continue;
    next += std::chrono::nanoseconds(std::lround(1e9 / load_.resets_per_second));
    SleepUntil(next);
  }
}

// Out of zones, it fails.
Status ZoneLoad::Next(std::uint32_t turn) {
  if (load_.finishing) {
    if (turn == kFinishZones) return Fail(Code::kNoSpace, "all zones are finished");
    return device_.Finish(ZoneId(kFirstFinishZone + turn));
  }
  if (turn == kResetZones) return Fail(Code::kNoSpace, "all zones are reset");
  return device_.Reset(ZoneId(kFirstResetZone + turn));
}

}  // namespace zenfs
