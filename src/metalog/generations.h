// Finds the newest complete generation of the metadata log and replays it. Later calls replay only new frames.
// Internal to metalog/. The rules are in docs/formats/metadata-log.md, "Mount".
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
  // `device` and `superblock` must outlive this.
  Generations(ZonedDevice& device, const Superblock& superblock)
      : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {}

  struct Found {
    GenerationReader* reader = nullptr;  // of the newest complete generation; valid until the next call
    bool newer_incomplete = false;       // a higher generation exists that is not complete (yet)
    std::uint32_t newer_copies =
        2;  // if so: the zones in which each of its frames was written; the fewest of all such
  };
  // `fingerprint`: of the metadata zones now. Errors: kCorruption as for Replay. After an error, discard this object.
  [[nodiscard]] Result<Found> Read(const LogFingerprint& fingerprint);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // generation, salt

  // Each zone of a generation has its own place and copy in the chain. `heads`: in the order of the chain.
  Status RefuseIfAmbiguous(std::span<const MetazoneHead> heads) const;
  // A generation whose frames end before its SwitchComplete never happened. If its SwitchComplete is found later in its
  // zones, the generation was complete and frames were lost. The salt must match: a torn write may leave the
  // SwitchComplete of an earlier attempt visible.
  Status RefuseIfProven(std::span<const MetazoneHead> heads, const GenerationReader& reader);
  // If an incomplete generation holds commits that the complete generation `older` lacks, its SwitchComplete was lost:
  // new commits go to a generation only after its SwitchComplete is durable.
  Status RefuseIfCommitted(std::span<const MetazoneHead> heads, const GenerationReader& reader,
                           const Replayed& older);
  // A zone without a readable log header is either a log switch torn at its first write, with nothing after the header,
  // or a damaged newer generation.
  // `headless`: the indexes of such zones in the fingerprint.
  Status RefuseIfHeadlessIsNewer(const LogFingerprint& fingerprint, std::span<const std::size_t> headless,
                                 std::uint64_t generation);
  // Finds a SwitchComplete of generation `min_generation` or higher anywhere in the zone.
  std::optional<FoundSwitchComplete> SearchSwitchComplete(const ZoneInfo& info, std::uint64_t min_generation);

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  std::map<Key, GenerationReader> readers_;  // of complete and of unfinished generations
};

}  // namespace zenfs
