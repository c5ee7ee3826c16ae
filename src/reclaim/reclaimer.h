// The collector: one background thread that makes room when space gets short. It empties data zones and log zones, the
// zone with the best ratio of gain to cost first. No other thread copies live data to make room; writers wait for this
// thread or its verdict. While data has room for one more zone, the collector works at most a quarter of the time, in
// favour of reads and writes. docs/internals/space.md shows why it always makes progress.
//
//   ZoneManager says that space is short --> VictimSearch chooses a zone --> ZoneMover empties it
//
// Threads: Start and Join from one thread; all other work runs on the collector's thread.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/thread.h"
#include "open/commit_path.h"
#include "reclaim/victim_search.h"
#include "reclaim/zone_mover.h"
#include "wal/log_space.h"
#include "zone/zone_manager.h"

namespace zenfs {

class Reclaimer {
 public:
  // All arguments outlive the reclaimer.
  Reclaimer(ZoneManager& zones, LogSpace& log, const CommitPath& commits, ZoneMover& mover);
  ~Reclaimer() { Join(); }

  // Errors: those of Thread::Start.
  [[nodiscard]] Status Start();
  // Joins the thread. It ends once the zone manager is stopped and ZoneMover::Empty returns.
  void Join() { thread_.Join(); }

 private:
  void Run();
  void ComeBackAfter(std::chrono::milliseconds pause);
  void Reclaim(const ReclaimNeed& need);
  bool TakeFromLog(const ReclaimNeed& need);
  bool IsEmptied(const Victim& victim) const;

  ZoneManager& zones_;
  LogSpace& log_;
  const CommitPath& commits_;
  ZoneMover& mover_;
  VictimSearch search_;
  // When busy or pending garbage is looked at again.
  std::optional<SteadyTime> come_back_;
  Thread thread_;
};

// Slows the move of one zone down, in favour of reads and writes, until space is urgent.
class ReclaimPace {
 public:
  // `zones` outlives it.
  ReclaimPace(ZoneManager& zones, ReclaimUrgency urgency)
      : zones_(zones), urgent_(urgency >= ReclaimUrgency::kAhead) {}
  // Call this after each piece with the time that it took.
  void Pause(std::chrono::nanoseconds piece);

 private:
  ZoneManager& zones_;
  bool urgent_;
};

}  // namespace zenfs
