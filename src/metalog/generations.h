// Finds the newest complete generation of the metadata log and replays it; called again, only what is new.
// Internal to metalog/. docs/formats/metadata-log.md, "Mount", has the rules.
//
// Threads: one at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/generation_reader.h"
#include "metalog/log_fingerprint.h"

namespace zenfs {

class Generations {
 public:
  // Both outlive this.
  Generations(ZonedDevice& device, const Superblock& superblock)
      : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {}

  struct Found {
    GenerationReader* reader = nullptr;  // of the newest complete generation; lives until the next call
    bool newer_incomplete = false;       // one that is higher, and has not got so far (yet)
  };
  // `fingerprint`: the metadata zones now. Errors: kCorruption as Replay says; nothing of this object can be used
  // after one.
  [[nodiscard]] Result<Found> Read(const LogFingerprint& fingerprint);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // generation, salt

  // A generation that ends before its SwitchComplete never happened, unless its SwitchComplete (one of its salt: what was
  // torn may show an earlier attempt's) stands further on: then it was complete once, and what is missing was lost.
  Status RefuseIfProven(std::span<const MetazoneHead> heads, const GenerationReader& reader);
  // Nor may it hold commits that the complete generation `older` has not: commits go to a new generation only once its
  // SwitchComplete is durable, which was lost then.
  Status RefuseIfCommitted(std::span<const MetazoneHead> heads, const GenerationReader& reader,
                           const Replayed& older);
  // A zone whose log header cannot be read may be a log switch that was torn at its start, and then nothing stands behind
  // the header, or a damaged newer generation.
  Status RefuseIfHeadlessIsNewer(std::span<const ZoneInfo> headless, std::uint64_t generation);
  // A SwitchComplete of at least `min_generation` anywhere in the zone.
  std::optional<FoundSwitchComplete> SearchSwitchComplete(const ZoneInfo& info, std::uint64_t min_generation);

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  std::map<Key, GenerationReader> readers_;  // of complete and of unfinished generations
};

}  // namespace zenfs
