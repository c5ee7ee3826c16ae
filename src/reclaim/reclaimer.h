// The collector of garbage: one background thread makes room when space gets short, by emptying zones of data and of the
// log, the one with most to gain first. Nobody else copies live data to make room; writers wait for this thread, or for
// its verdict that nothing can be gained. While there is room for a few zones of data it takes at most a quarter of
// the time, so that those who read and write go first. docs/internals/space.md argues why it always makes progress.
//
// Threads: Start and Stop from one thread; the rest happens on the reclaimer's own.
#pragma once

#include <atomic>
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
  // Both outlive it.
  Reclaimer(ZoneManager& zones, std::uint32_t block_size, ReclaimTarget& target)
      : zones_(zones), block_size_(block_size), target_(target) {}
  ~Reclaimer() { Join(); }

  // Errors: those of Thread::Start.
  [[nodiscard]] Status Start();
  // Waits for the thread, which ends once the zone manager is stopped and the target's Empty returns.
  void Join() { thread_.Join(); }

 private:
  struct Search {
    std::vector<ZoneStatus> zones;
    ReclaimTarget::LogView log;
    std::vector<Victim> victims;
  };
  void Run();
  // Between pieces: waits, unless space is needed now.
  void Pause(std::chrono::nanoseconds piece) const;
  Search Look() const;
  void Reclaim(const ReclaimNeed& need);
  // The best victim that is not held; one that is goes to busy_.
  std::optional<Victim> Choose(const Search& search, const ReclaimNeed& need);
  void GiveVerdict(const Search& search, const ReclaimNeed& need);
  void Note(const Victim& victim, const Status& emptied);
  bool IsEmptied(const Victim& victim) const;
  // Of those that failed, leaving out the tries in earlier lives of zones.
  int& TriesOf(const Victim& victim);

  ZoneManager& zones_;
  const std::uint32_t block_size_;
  ReclaimTarget& target_;
  struct Tries {
    std::uint32_t incarnation = 0;  // of the zone
    int failed = 0;
  };
  std::map<ZoneId, Tries> tries_;
  std::set<ZoneId> busy_;  // of the present round
  // Those for which there was no room, for copies or for their commit; they are left alone until something changes.
  std::set<ZoneId> refused_;
  std::uint64_t refused_at_ = 0;  // version of the need
  // When to look again at what was busy or pending at the last verdict.
  std::optional<std::chrono::milliseconds> come_back_;
  std::atomic<bool> urgent_{false};  // no pauses
  Thread thread_;
};

// Something dead that may be within reach later, without any change that is known now: it is uncommitted, pinned, or in
// log zones that wait for their release.
[[nodiscard]] bool AnyGarbagePending(std::span<const ZoneStatus> zones,
                                     std::span<const LogZoneStatus> log_zones, std::uint32_t block_size);

}  // namespace zenfs
