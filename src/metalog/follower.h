// Follows the metadata log of a volume that a writer in this or another process may use. Reads only, takes no lock and
// needs nothing from the writer.
//
// The first Refresh replays the log; later ones read only new frames, of the current generation and of one that a log
// switch is writing. A torn or partly written frame ends the log for now.
//
// The writer may reset and rewrite all metadata zones but those of its current generation during a read. So if a replay
// fails and the log has changed meanwhile, Refresh starts over, until kPatience has passed. Only a failure on an unchanged
// log is damage.
//
// A log of the older ZenFS (metalog/older_log.h) is replayed whole each time it has changed.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/older_log.h"
#include "metalog/replay.h"
#include "model/state.h"

namespace zenfs {

class LogFollower {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  // `device` and `superblock` must outlive the follower.
  LogFollower(ZonedDevice& device, const Superblock& superblock,
              std::chrono::nanoseconds patience = kPatience)
      : device_(device), superblock_(superblock), patience_(patience), older_(device, superblock) {}

  enum class Change {
    kNone,      // the log has not changed
    kAdvanced,  // commits may have been applied; records of files that they did not change are the same objects
    kReplaced,  // the state was replayed from another generation; all records are new objects
  };
  // Updates the state to the log on the device, and returns what changed since the last call that succeeded. Errors: those of
  // Replay on an unchanged log; kTimedOut if the log kept changing for `patience`. A call that fails may leave an older or a
  // newer state, or none.
  [[nodiscard]] Result<Change> Refresh();

  bool has_state() const { return replayed_ != nullptr; }
  // Precondition of all below: has_state().
  const State& state() const { return replayed_->state; }
  std::uint64_t generation() const { return replayed_->generation; }
  std::uint64_t sequence() const { return replayed_->sequence; }  // of the last commit
  // Zones of the generation, in chain order, and the zones in which each of its frames was written.
  const std::vector<ZoneId>& chain() const { return replayed_->chain; }
  std::uint32_t copies() const { return replayed_->copies; }
  // What the replay of an older ZenFS's log found wrong; empty for format 3.
  const std::vector<OlderFlaw>& older_flaws() const { return older_.flaws(); }
  // As MetadataZones.
  std::vector<ZoneId> metadata_zones() const {
    return WithAdded(superblock_, fingerprint_.AddedBy(generation(), salt_));
  }
  // Fingerprint taken before the last Refresh read the log. While CheckLog finds it unchanged, state() is current.
  const LogFingerprint& fingerprint() const { return fingerprint_; }

 private:
  [[nodiscard]] Result<Change> ReadOn(LogFingerprint fingerprint);
  // True if everything that was written is in the state, so that nothing can be in doubt.
  bool ReadEverything() const;
  void Forget();
  std::unexpected<Error> TooFast(const std::string& last) const;

  ZonedDevice& device_;
  const Superblock& superblock_;
  const std::chrono::nanoseconds patience_;
  std::unique_ptr<Generations> generations_;
  GenerationReader* reader_ = nullptr;  // in generations_; null for an older ZenFS
  OlderLog older_;
  const Replayed* replayed_ = nullptr;  // of reader_ or older_; null: there is no state
  std::uint64_t salt_ = 0;              // of the generation that reader_ reads
  LogFingerprint fingerprint_;
  Change unreported_ = Change::kNone;  // by calls that failed
};

}  // namespace zenfs
