// The collector: one background thread that makes room when space gets short. It empties data zones and log zones, the
// zone with the best ratio of gain to cost first. No other thread copies live data to make room; writers wait for this
// thread or its verdict. While data has room for one more zone, the collector works at most a quarter of the time, in
// favour of reads and writes. docs/internals/space.md shows why it always makes progress.
//
// Threads: Start and Join from one thread; all other work runs on the collector's thread.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/thread.h"
#include "reclaim/reclaim_target.h"
#include "reclaim/victim.h"
#include "zone/zone_manager.h"

namespace zenfs {

class Reclaimer {
 public:
  // `zones` and `target` outlive the reclaimer.
  Reclaimer(ZoneManager& zones, std::uint32_t block_size, ReclaimTarget& target)
      : zones_(zones), block_size_(block_size), target_(target) {}
  ~Reclaimer() { Join(); }

  // Errors: those of Thread::Start.
  [[nodiscard]] Status Start();
  // Joins the thread. It ends once the zone manager is stopped and the target's Empty returns.
  void Join() { thread_.Join(); }

 private:
  struct Search {
    std::vector<ZoneStatus> zones;
    ReclaimTarget::LogView log;
    std::vector<Victim> victims;
  };
  void Run();
  // Called after each piece: sleeps, unless space is urgent by now.
  void Pause(std::chrono::nanoseconds piece);
  void ComeBackAfter(std::chrono::milliseconds pause);
  Search Look() const;
  void Reclaim(const ReclaimNeed& need);
  bool TakeFromLog(const ReclaimNeed& need);
  // Returns the best victim that is not held, and adds better ones that are held to busy_.
  std::optional<Victim> Choose(Search& search, const ReclaimNeed& need);
  // Sets Victim::restated where it is known, and forgets what is no longer true.
  void AddKnownCosts(Search& search);
  void GiveVerdict(const Search& search, const ReclaimNeed& need);
  void Note(const Victim& victim, const Status& emptied);
  bool IsEmptied(const Victim& victim) const;
  // The number of failed attempts on the victim in the present incarnation of its zone.
  int& TriesOf(const Victim& victim);

  ZoneManager& zones_;
  const std::uint32_t block_size_;
  ReclaimTarget& target_;
  struct Tries {
    std::uint32_t incarnation = 0;  // of the zone
    int failed = 0;
  };
  std::map<ZoneId, Tries> tries_;
  // What emptying a zone would restate, with what it was found for. Metadata that files get or lose in other zones is not noticed:
  // it is an estimate.
  struct Cost {
    std::uint32_t incarnation = 0;
    std::uint64_t copies = 0;
    std::uint64_t restated = 0;
  };
  std::map<ZoneId, Cost> costs_;
  bool costs_unknown_ = false;  // the last search ended with victims whose cost it had not asked for
  std::set<ZoneId> busy_;       // zones to skip until the next verdict
  // Zones to skip because there was no room for copies or their commit; cleared when the version of the need changes.
  std::set<ZoneId> refused_;
  std::uint64_t refused_at_ = 0;  // version of the need
  // When busy or pending garbage is looked at again.
  std::optional<SteadyTime> come_back_;
  bool urgent_ = false;  // no pauses
  Thread thread_;
};

// True if dead bytes may become reclaimable later: beside uncommitted bytes, in pinned zones, or in log zones that
// wait for their release.
[[nodiscard]] bool AnyGarbagePending(std::span<const ZoneStatus> zones,
                                     std::span<const LogZoneStatus> log_zones, std::uint32_t block_size);

}  // namespace zenfs
