// The background part of LogSpace: zones made ready ahead of use, dead ones released, mostly dead ones
// emptied.
#include <algorithm>

#include "base/sync_point.h"
#include "wal/log_space.h"

namespace zenfs {
namespace {

// How soon to look again for an empty zone after there was none.
constexpr std::chrono::milliseconds kRetryAfter{200};
// A zone is folded when at most this share of it is live; when zones are short, nearly any garbage will do, and the
// padding of small records is garbage too.
constexpr std::uint64_t kFoldLivePercent = 25;
constexpr std::uint64_t kFoldLivePercentShort = 75;
// Zones are treated as short once log zones hold more than this share of the device in dead frames and padding: later
// there might be no zone left to fold into.
constexpr std::uint64_t kWastePercentMax = 25;
// Folds of a zone that may fail: a copy or a commit that was refused may succeed the next time, what can't be read stays
// unreadable, and each try writes copies for nothing.
constexpr int kFoldsMax = 3;

}  // namespace

void LogSpace::Work() {
  for (;;) {
    std::uint64_t percent = 0;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && (given_up_ || (!poked_ && ready_.size() >= env_.reserve_target)))
        wake_.Wait(mutex_);
      if (!stopping_ && !poked_ && short_of_space_) {
        static_cast<void>(wake_.WaitUntil(mutex_, Deadline::After(kRetryAfter)));
      }
      if (stopping_) return;
      poked_ = false;
      fold_padding_ = short_of_space_ || IsWasteful();
      percent = fold_padding_ ? kFoldLivePercentShort : kFoldLivePercent;
    }
    SyncPoint::Reach("LogSpace::Work");
    ReleaseDead();
    FoldMostlyDead(percent);
    TopUp();
    MutexLock lock(mutex_);
    ++rounds_;
    round_done_.NotifyAll();
  }
}

bool LogSpace::IsWasteful() const {
  std::uint64_t waste = 0;
  for (const auto& [id, zone] : zones_) {
    if (zone.closed) waste += zone.written - std::min(zone.written, zone.live.payload);
  }
  return waste * 100 > env_.zones->Space().total * kWastePercentMax;
}

Status LogSpace::ReserveOne(Deadline deadline) {
  ZENFS_ASSIGN_OR_RETURN(const ZoneId zone, env_.zones->LendLogZone(deadline));
  Result<LogZone> reserved = env_.reservations->Reserve(zone);
  if (!reserved) {
    env_.zones->ReturnLogZone(zone);
    NoteRefusal(reserved.error());
    return Fail(std::move(reserved).error());
  }
  const std::uint64_t capacity = env_.zones->Zone(zone).capacity;
  MutexLock lock(mutex_);
  zones_.insert_or_assign(zone, Zone{.reservation = *reserved, .capacity = capacity});
  ready_.push_back(zone);
  return {};
}

// Once the metadata log is read-only no zone is reserved or released any more, and what folds copy is lost.
void LogSpace::NoteRefusal(const Error& error) {
  if (error.code() != Code::kReadOnly) return;
  MutexLock lock(mutex_);
  given_up_ = true;
  round_done_.NotifyAll();
}

void LogSpace::TopUp() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (stopping_ || ready_.size() >= env_.reserve_target) {
        short_of_space_ = false;
        return;
      }
    }
    // Waits for resets under way: only when there are none is space short, and folding worth its cost.
    if (!ReserveOne(Deadline::After(kRetryAfter))) {
      // No zone now; a sync that needs one reserves it itself, with a deadline and an error.
      MutexLock lock(mutex_);
      short_of_space_ = true;
      return;
    }
  }
}

void LogSpace::ReleaseDead() {
  std::vector<ZoneId> dead;
  {
    MutexLock lock(mutex_);
    if (!may_release_ || stopping_) return;
    for (auto& [id, zone] : zones_) {
      if (!zone.closed || zone.live.device_bytes != 0 || zone.releasing) continue;
      // Plain data that shares the zone, and readers of frames that were folded, keep it too.
      const ZoneStatus status = env_.zones->Zone(id);
      if (status.live != 0 || status.pins != 0) continue;
      zone.releasing = true;
      dead.push_back(id);
    }
  }
  for (const ZoneId id : dead) {
    // If the commit fails the log is no longer written, and those who commit learn why.
    const Status released = env_.reservations->Release(id);
    if (!released) NoteRefusal(released.error());
    {
      MutexLock lock(mutex_);
      if (released) {
        zones_.erase(id);
      } else {
        zones_.at(id).releasing = false;
      }
    }
    if (released) env_.zones->ReturnLogZone(id);
  }
}

void LogSpace::FoldMostlyDead(std::uint64_t live_percent_max) {
  if (!env_.fold) return;
  std::vector<ZoneId> victims;
  {
    MutexLock lock(mutex_);
    if (stopping_ || given_up_) return;
    for (const auto& [id, zone] : zones_) {
      if (!zone.closed || zone.releasing || zone.failed_folds >= kFoldsMax) continue;
      const std::uint64_t plain = env_.zones->Zone(id).live;  // where data shares the log's zones
      if (zone.live.device_bytes + plain == 0) continue;
      const std::uint64_t kept = plain + (fold_padding_ ? zone.live.payload : zone.live.device_bytes);
      if (kept * 100 <= zone.written * live_percent_max) victims.push_back(id);
    }
  }
  bool any = false;
  for (const ZoneId id : victims) {
    const Status folded = env_.fold(id);
    any = any || folded.has_value();  // a file that can't be folded now stays where it is
    if (folded) continue;
    const Code code = folded.error().code();
    if (code != Code::kIo && code != Code::kCorruption) continue;
    MutexLock lock(mutex_);
    const auto it = zones_.find(id);
    if (it != zones_.end()) it->second.failed_folds += code == Code::kCorruption ? kFoldsMax : 1;
  }
  if (any) ReleaseDead();
}

void LogSpace::FreeWhatIsWasted() {
  {
    MutexLock lock(mutex_);
    may_release_ = true;
    // As long as there is room, a mount does not wait for what the background thread can do.
    const SpaceReport space = env_.zones->Space();
    if (!IsWasteful() || space.free > space.total / 8) return;
  }
  FreeWhatCanBe();
}

void LogSpace::FreeWhatCanBe() {
  {
    MutexLock lock(mutex_);
    fold_padding_ = true;
  }
  ReleaseDead();
  FoldMostlyDead(kFoldLivePercentShort);
}

}  // namespace zenfs
