// Makes room when space gets short: one background thread empties zone after zone, the one with most to gain first.
// While no writer waits it takes at most a quarter of the time, so that those who read and write go first.
//
// Threads: Start and Stop from one thread; the rest happens on the reclaimer's own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <set>

#include "base/thread.h"
#include "zone/zone_manager.h"

namespace zenfs {

class Reclaimer {
 public:
  struct Env {
    ZoneManager* zones = nullptr;
    // Moves all live data out of the zone. kBusy, kTimedOut: try again soon. kNoSpace: there is no room for copies, or
    // for their commit, until more data dies. kCorruption: leave that zone alone until it was reset. Any other error: do
    // that after a few tries.
    std::function<Status(ZoneId)> empty_zone;
    // Called between zones; true if it wants to be called again soon.
    std::function<bool()> finish_up;
  };

  explicit Reclaimer(Env env) : env_(std::move(env)) {}
  ~Reclaimer() { Join(); }

  void Start();
  // Waits for the thread, which ends once the zone manager is stopped and what empty_zone is doing returns.
  void Join() { thread_.Join(); }

  // For empty_zone, an ExtentMover::Pause: waits if nobody is in a hurry.
  void Pause(std::chrono::nanoseconds piece) const;

 private:
  void Run();
  void Empty(const ReclaimNeed& need);
  void Note(const ZoneStatus& zone, ReclaimUrgency urgency, const Status& emptied);
  // Of those that failed, leaving out the tries in earlier lives of zones.
  int& TriesOf(const ZoneStatus& zone);

  const Env env_;
  struct Tries {
    std::uint32_t life = 0;  // of the zone
    int failed = 0;
  };
  std::map<ZoneId, Tries> tries_;
  std::set<ZoneId> busy_;  // of the present round
  std::atomic<bool> urgent_{false};
  Thread thread_;
};

}  // namespace zenfs
