// Proves that the two devices of a volume on two devices are those of its last mount: they hold the same key
// (format/pair_record.h). For a single device, and a joined one that has no parts, all calls do nothing.
//
// Threads: functions on values, no state.
#pragma once

#include <functional>
#include <optional>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/pair_record.h"
#include "metalog/follower.h"
#include "model/state.h"

namespace zenfs {

// What the main device says of the pair.
struct PairClaim {
  Uuid key;                 // nil: none
  std::uint64_t epoch = 0;  // of its last mount

  static PairClaim Of(const State& state) { return {.key = state.pair_key(), .epoch = state.epoch()}; }
  friend bool operator==(const PairClaim&, const PairClaim&) = default;
};

enum class PairVerdict {
  kTogether,
  kLogsOlder,
  kMainOlder,
  kApart,  // neither is older: each was mounted with a copy of the other
};
[[nodiscard]] PairVerdict JudgePair(const PairClaim& main, const std::optional<PairRecord>& logs);

// The newest record on the second device of `joined`. Errors: those of FindLogSuperblock and ReadPairRecord.
[[nodiscard]] Result<std::optional<PairRecord>> PairRecordOf(ZonedDevice& joined);
// The error for a verdict other than kTogether: kInvalidArgument, with the wrong device, the reason and what to do.
[[nodiscard]] std::unexpected<Error> PairRefusal(const ZonedDevice& joined, const PairClaim& main,
                                                 const std::optional<PairRecord>& logs, PairVerdict verdict);

// For a device that nobody else writes. Errors: those of PairRecordOf; PairRefusal.
[[nodiscard]] Status CheckPair(ZonedDevice& joined, const State& state);
// The same beside a writer, which may renew the key meanwhile. `look` reads the claim anew. Errors: also those of `look`.
[[nodiscard]] Status CheckPairLive(ZonedDevice& joined, const std::function<Result<PairClaim>()>& look);
// The same with a follower of the metadata log. OK if that cannot be replayed, which the caller reports.
[[nodiscard]] Status CheckPairOf(ZonedDevice& joined, LogFollower& follower);

// The record of mkfs, with a new key.
[[nodiscard]] PairRecord FirstPairRecord(const ZonedDevice& joined);

// The new key of a mount, in the order of format/pair_record.h.
class PairRenewal {
 public:
  // Writes the offered record. `state` is that before the first commit of the mount with `epoch`. Errors: those of
  // WritePairRecord.
  [[nodiscard]] static Result<PairRenewal> Offer(ZonedDevice& joined, const State& state,
                                                 std::uint64_t epoch);
  // For the commit that begins the epoch; nothing if there is no pair.
  std::optional<Edit> edit() const;
  // Call this once that commit is durable. Errors: those of WritePairRecord.
  [[nodiscard]] Status Settle();

 private:
  explicit PairRenewal(ZonedDevice& joined) : joined_(joined) {}
  [[nodiscard]] Status Write(bool offered);

  ZonedDevice& joined_;
  std::optional<PairRecord> record_;
};

}  // namespace zenfs
