#include "volume/pair_proof.h"

#include <fmt/format.h>

#include "base/boot_id.h"
#include "device/guarded_device.h"
#include "device/presence.h"
#include "metalog/pair_zones.h"
#include "metalog/probe.h"

namespace zenfs {
namespace {

// How often a reader looks again because the key was renewed meanwhile.
constexpr int kPairTries = 16;

std::string LastMount(std::uint64_t epoch) {
  return epoch == 0 ? "that of mkfs" : fmt::format("that of mount {}", epoch);
}

std::string KeyOf(const std::optional<PairRecord>& logs) { return logs ? LastMount(logs->epoch) : "none"; }

std::string KeyOf(const PairClaim& main) { return main.key.IsNil() ? "none" : LastMount(main.epoch); }

}  // namespace

PairVerdict JudgePair(const PairClaim& main, const std::optional<PairRecord>& logs) {
  if (!logs) return main.key.IsNil() ? PairVerdict::kTogether : PairVerdict::kLogsOlder;
  // Both got the key in the same epoch, and an offer is for the next one. A record of a later epoch would stay the newest one
  // after the next mount, which would then be the last.
  if (logs->key == main.key && logs->epoch <= main.epoch) return PairVerdict::kTogether;
  if (logs->offered && logs->previous == main.key && logs->epoch <= main.epoch + 1)
    return PairVerdict::kTogether;
  if (main.key.IsNil()) return PairVerdict::kMainOlder;
  // An offer for the next mount is not a mount yet.
  const std::uint64_t epoch = logs->offered && logs->epoch != 0 ? logs->epoch - 1 : logs->epoch;
  if (epoch == main.epoch) return PairVerdict::kApart;
  return epoch < main.epoch ? PairVerdict::kLogsOlder : PairVerdict::kMainOlder;
}

Result<std::optional<PairRecord>> PairRecordOf(ZonedDevice& joined) {
  ZonedDevice* const logs = joined.parts().logs;
  if (logs == nullptr) return std::nullopt;
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(*logs);
  const auto read = [&]() -> Result<std::optional<PairRecord>> {
    ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, FindLogSuperblock(*guarded));
    return ReadPairRecord(*guarded, superblock);
  };
  Result<std::optional<PairRecord>> record = read();
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*guarded));
  return record;
}

std::unexpected<Error> PairRefusal(const ZonedDevice& joined, const PairClaim& main,
                                   const std::optional<PairRecord>& logs, PairVerdict verdict) {
  const JoinedParts parts = joined.parts();
  const std::string& main_name = parts.main->name();
  const std::string& logs_name = parts.logs->name();
  const std::string keys = fmt::format("the key of the pair on {} is {}, on {} it is {}", main_name,
                                       KeyOf(main), logs_name, KeyOf(logs));
  switch (verdict) {
    case PairVerdict::kLogsOlder:
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{} is not the log device of the last mount of {}, but an older copy: {}; synced "
                      "bytes would be lost, so nothing was written: attach the log device of the last "
                      "mount (?waldev:KIND:NAME names it), or restore both devices from copies of one "
                      "moment",
                      logs_name, main_name, keys));
    case PairVerdict::kMainOlder:
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{} is not the main device of the last mount with {}, but an older copy, or has lost "
                      "its last commits: {}; nothing was written: attach the main device of the last "
                      "mount, or restore both devices from copies of one moment; if commits are lost by "
                      "damage, zenfs check --repair continues without them",
                      main_name, logs_name, keys));
    case PairVerdict::kApart:
    case PairVerdict::kTogether: break;
  }
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{} and {} are from different copies of the volume, which were mounted since: {}, and "
                  "these differ; nothing was written: name the log device that was copied with {} by "
                  "?waldev:KIND:NAME",
                  main_name, logs_name, keys, main_name));
}

Status CheckPair(ZonedDevice& joined, const State& state) {
  if (joined.parts().logs == nullptr) return {};
  ZENFS_ASSIGN_OR_RETURN(const std::optional<PairRecord> logs, PairRecordOf(joined));
  const PairClaim main = PairClaim::Of(state);
  const PairVerdict verdict = JudgePair(main, logs);
  return verdict == PairVerdict::kTogether ? Status() : Status(PairRefusal(joined, main, logs, verdict));
}

Status CheckPairLive(ZonedDevice& joined, const std::function<Result<PairClaim>()>& look) {
  if (joined.parts().logs == nullptr) return {};
  std::optional<PairClaim> last_main;
  std::optional<PairRecord> last_logs;
  for (int tried = 1;; ++tried) {
    // In this order: the commit of a key comes before its settled record.
    ZENFS_ASSIGN_OR_RETURN(const std::optional<PairRecord> logs, PairRecordOf(joined));
    ZENFS_ASSIGN_OR_RETURN(const PairClaim main, look());
    const PairVerdict verdict = JudgePair(main, logs);
    if (verdict == PairVerdict::kTogether) return {};
    const bool moved = !last_main || *last_main != main || last_logs != logs;
    if (!moved || tried == kPairTries) return PairRefusal(joined, main, logs, verdict);
    last_main = main;
    last_logs = logs;
  }
}

Status CheckPairOf(ZonedDevice& joined, LogFollower& follower) {
  bool replayed = true;
  const Status pair = CheckPairLive(joined, [&]() -> Result<PairClaim> {
    const auto refreshed = follower.Refresh();
    replayed = refreshed.ok();
    if (!replayed) return Fail(refreshed.error());
    return PairClaim::Of(follower.state());
  });
  return replayed ? pair : Status();
}

PairRecord FirstPairRecord(const ZonedDevice& joined) {
  const JoinedParts parts = joined.parts();
  return {.key = Uuid::Generate(),
          .previous = {},
          .boot = BootId(),
          .main_identity = parts.main->identity(),
          .logs_identity = parts.logs->identity()};
}

Result<PairRenewal> PairRenewal::Offer(ZonedDevice& joined, const State& state, std::uint64_t epoch) {
  PairRenewal renewal(joined);
  if (joined.parts().logs == nullptr) return renewal;
  renewal.record_ = FirstPairRecord(joined);
  renewal.record_->epoch = epoch;
  renewal.record_->previous = state.pair_key();
  ZENFS_RETURN_IF_ERROR(renewal.Write(true));
  return renewal;
}

std::optional<Edit> PairRenewal::edit() const {
  if (!record_) return std::nullopt;
  return SetPairKey{record_->key};
}

Status PairRenewal::Settle() { return record_ ? Write(false) : Status(); }

Status PairRenewal::Write(bool offered) {
  record_->offered = offered;
  const std::unique_ptr<ZonedDevice> logs = GuardDevice(*joined_.parts().logs);
  const auto write = [&]() -> Status {
    ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, FindLogSuperblock(*logs));
    return WritePairRecord(*logs, superblock, *record_);
  };
  if (Status written = write(); !written.ok())
    return Fail(written.error().With("writing the key of the pair of devices"));
  return {};
}

}  // namespace zenfs
