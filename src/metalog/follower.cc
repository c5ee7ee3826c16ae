#include "metalog/follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/sync_point.h"
#include "device/presence.h"

namespace zenfs {
namespace {

// Pause between two tries, so that a writer on the same processor can run.
constexpr std::chrono::milliseconds kPause{1};

}  // namespace

Result<LogFollower::Change> LogFollower::Refresh() {
  const Deadline deadline = Deadline::After(patience_);
  for (;;) {
    const PresenceMark mark = PresenceMark::Now(device_);
    ZENFS_ASSIGN_OR_RETURN(LogFingerprint fingerprint, TakeLogFingerprint(device_, superblock_));
    SyncPoint::Reach("LogFollower::Refresh:reported");
    if (has_state() && SameLog(fingerprint_, fingerprint)) {
      fingerprint_.taken = fingerprint.taken;
      return std::exchange(unreported_, Change::kNone);
    }
    Result<Change> change = ReadOn(fingerprint);
    if (change) unreported_ = std::max(unreported_, *change);
    // If valid frames reach the write pointer, the state is current. Otherwise the last frame may be torn, or the zone was
    // reset during the read and the state is out of date.
    if (Status present = mark.Check(device_); !present.ok()) {
      Forget();
      return Fail(std::move(present).error());
    }
    if (change && ReadEverything()) return std::exchange(unreported_, Change::kNone);
    SyncPoint::Reach("LogFollower::Refresh:ended");
    ZENFS_ASSIGN_OR_RETURN(const LogFingerprint after, TakeLogFingerprint(device_, superblock_));
    const bool stood_still = SameLog(fingerprint, after);
    if (change && stood_still) return std::exchange(unreported_, Change::kNone);
    if (!change) {
      Forget();
      if (stood_still) return Fail(std::move(change).error());
    }
    if (deadline.Passed()) return TooFast(change ? "the end of the log changed" : change.error().ToString());
    SleepUntil(SteadyNow() + kPause);
  }
}

std::unexpected<Error> LogFollower::TooFast(const std::string& last) const {
  return Fail(Code::kTimedOut,
              fmt::format("{}: for {} s the writer changed the metadata log faster than it could be read; "
                          "try again when less is written (last: {})",
                          device_.name(), std::chrono::duration<double>(patience_).count(), last));
}

bool LogFollower::ReadEverything() const { return reader_ != nullptr && reader_->read_everything(); }

Result<LogFollower::Change> LogFollower::ReadOn(LogFingerprint fingerprint) {
  if (superblock_.is_older()) {
    ZENFS_RETURN_IF_ERROR(older_.Read(fingerprint.zones));
    replayed_ = &older_.replayed();
    fingerprint_ = std::move(fingerprint);
    return Change::kReplaced;
  }
  if (generations_ == nullptr) generations_ = std::make_unique<Generations>(device_, superblock_);
  ZENFS_ASSIGN_OR_RETURN(const Generations::Found found, generations_->Read(fingerprint));
  const bool same = reader_ == found.reader && salt_ == found.reader->replayed().salt;
  reader_ = found.reader;
  replayed_ = &reader_->replayed();
  salt_ = reader_->replayed().salt;
  fingerprint_ = std::move(fingerprint);
  return same ? Change::kAdvanced : Change::kReplaced;
}

void LogFollower::Forget() {
  unreported_ = Change::kReplaced;
  reader_ = nullptr;
  replayed_ = nullptr;
  generations_.reset();
}

}  // namespace zenfs
