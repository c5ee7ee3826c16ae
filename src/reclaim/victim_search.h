// The collector's search for the zone to empty next, and what it learns of zones: failed attempts, busy files, costs.
// No lock, device or thread.
//
//   Begin --> Choose --> a victim: empty it, then Note how that ended
//                    \-> none:     Verdict
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/status.h"
#include "reclaim/victim.h"
#include "zone/reclaim_demand.h"
#include "zone/zone_states.h"

namespace zenfs {

class VictimSearch {
 public:
  // Limit of failed attempts for each zone. The error does not tell whether the source is unreadable, which is
  // permanent, or a copy or commit failed, which may pass. Each attempt writes copies.
  static constexpr int kTriesMax = 3;

  explicit VictimSearch(std::uint32_t block_size) : block_size_(block_size) {}

  // `log` was read no later than `zones`. So a zone on its way from the pool to the log is in neither, or only in `zones`.
  void Begin(const ReclaimNeed& need, LogView log, std::vector<ZoneStatus> zones);

  // The best victim for which `is_held` returns false; better ones that are held count as busy. `restated` returns
  // the value for Victim::restated; it is called for as few victims as possible.
  using IsHeld = std::function<bool(ZoneId)>;
  using Restated = std::function<std::uint64_t(const Victim&)>;
  [[nodiscard]] std::optional<Victim> Choose(const IsHeld& is_held, const Restated& restated);

  // `emptied`: the result of ZoneMover::Empty. `is_empty`: the zone has no live data now, or an active victim is finished.
  void Note(const Victim& victim, const Status& emptied, bool is_empty);

  // The answer to the need if there was no victim. `can_commit`: false once commits are impossible; then pending garbage
  // can't be reclaimed in this mount. The next search looks at busy zones again.
  [[nodiscard]] ReclaimVerdict Verdict(bool can_commit);

 private:
  struct Tries {
    std::uint32_t incarnation = 0;  // of the zone
    int failed = 0;
  };
  // The bytes that emptying a zone would restate, and the zone's state when they were counted. An estimate: changes of these
  // files' metadata in other zones are not noticed.
  struct Cost {
    std::uint32_t incarnation = 0;
    std::uint64_t copies = 0;
    std::uint64_t restated = 0;
  };

  // Sets Victim::restated where it is known, and forgets what is no longer true.
  void AddKnownCosts();
  std::set<ZoneId> ZonesToSkip() const;
  // The number of failed attempts on the victim in the present incarnation of its zone.
  int& TriesOf(const Victim& victim);

  const std::uint32_t block_size_;
  // --- of the present search ---
  ReclaimNeed need_;
  LogView log_;
  std::vector<ZoneStatus> zones_;
  std::vector<Victim> victims_;
  bool costs_unknown_ = false;  // it ended with victims whose cost it had not asked for
  // --- of all ---
  std::map<ZoneId, Tries> tries_;
  std::map<ZoneId, Cost> costs_;
  std::set<ZoneId> busy_;  // zones to skip until the next verdict
  // Zones to skip because there was no room for copies or their commit; cleared when the version of the need changes.
  std::set<ZoneId> refused_;
  std::uint64_t refused_at_ = 0;  // version of the need
};

}  // namespace zenfs
