// Follows the metadata log of a volume that somebody else may be writing, in this process or another: reads
// only, takes no lock, asks nothing of the writer.
//
// The first Refresh replays the log; later ones read what has been added: behind the position in the current
// generation, and of a generation that a log switch is writing, what there is of it so far. A frame that is torn or
// being written is the end for now.
//
// A writer may reset and rewrite any metadata zone but those of its current generation while they are read
// here. What goes wrong in a replay while the log moved is therefore no error: it is tried again, anew, until
// kPatience has passed. Only what goes wrong on a log that stands still is damage.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/generations.h"
#include "metalog/log_fingerprint.h"
#include "model/state.h"

namespace zenfs {

class LogFollower {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  // Both outlive the follower.
  LogFollower(ZonedDevice& device, const Superblock& superblock,
              std::chrono::nanoseconds patience = kPatience)
      : device_(device), superblock_(superblock), patience_(patience) {}

  enum class Change {
    kNone,      // the log has not moved
    kAdvanced,  // commits may have been applied: records of files that they do not touch are the same objects
    kReplaced,  // the state was replayed anew, from another generation: every record is another object
  };
  // Brings the state to what is on the device now. Must have succeeded once before the calls below.
  // Errors: those of Replay on a log that stands still; kTimedOut when the log was moved too fast for
  // `patience`. The next Refresh begins anew.
  [[nodiscard]] Result<Change> Refresh();

  const State& state() const { return reader_->replayed().state; }
  std::uint64_t generation() const { return reader_->replayed().generation; }
  std::uint64_t sequence() const { return reader_->replayed().sequence; }  // of the last commit
  // Zones of the generation, in its order.
  const std::vector<ZoneId>& chain() const { return reader_->replayed().chain; }
  // Of the zones before they were read for the last Refresh: while the log has not moved since (CheckLog),
  // the state is that of the device.
  const LogFingerprint& fingerprint() const { return fingerprint_; }

 private:
  [[nodiscard]] Result<Change> ReadOn(LogFingerprint fingerprint);
  void Forget();
  std::unexpected<Error> TooFast(const std::string& last) const;

  ZonedDevice& device_;
  const Superblock& superblock_;
  const std::chrono::nanoseconds patience_;
  std::unique_ptr<Generations> generations_;
  GenerationReader* reader_ = nullptr;  // in generations_
  std::uint64_t salt_ = 0;              // of the generation that reader_ reads
  LogFingerprint fingerprint_;
};

}  // namespace zenfs
