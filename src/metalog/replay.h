// Replay of the metadata log: finds the newest complete generation and reads its state. Writes nothing.
// docs/formats/metadata-log.md, "Mount", has the rules.
//
//   TakeLogFingerprint    the zone report and the log headers of the metadata zones
//   Generations::Read     from the highest generation down, until one is complete; refuses to pass over a damaged one
//   GenerationReader      the frames of one generation, over the zones of its chain
//   Replay                does all of this once, for a mount, and says whether a newer generation may exist
//
// A reader beside a writer (metalog/follower.h) keeps its Generations, so that each Read continues where the last one ended.
// CheckLog tells it whether the log has changed at all.
//
// Threads: one at a time for each object; the functions have no state.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/edit_codec.h"
#include "format/frame.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"
#include "metalog/metazones.h"
#include "metalog/zone_reader.h"
#include "model/state.h"

namespace zenfs {

// The zone report and the log headers of the metadata zones at one moment. Equal fingerprints prove that the log has not
// changed between them.
//
// Equal zone reports alone are no proof, because after enough log switches all write pointers may have their old values
// again. That takes longer than kReportSpan. If the fingerprint is older, the log headers are compared too; their salts
// are random.
struct LogFingerprint {
  static constexpr std::chrono::milliseconds kReportSpan{10};

  // The metadata zones in the order of the superblock; then those that headers of these zones name besides, ascending. Of
  // these, some may have been given back.
  std::vector<ZoneInfo> zones;
  std::vector<std::optional<LogHeader>> heads;  // of the same zones; none: no valid header
  // The highest generation whose headers name the zone.
  static constexpr std::uint64_t kBySuperblock = UINT64_MAX;
  std::vector<std::uint64_t> named_by;
  SteadyTime taken;  // before the first command

  std::vector<ZoneId> zone_ids() const;  // of `zones`
  // True if zones[i] may hold something else than the metadata log, because the log is at this generation.
  bool WasGivenBack(std::size_t i, std::uint64_t generation) const {
    return named_by[i] < generation && !heads[i];
  }
  // The zones that the headers of a generation name besides those of the superblock: the added metadata zones, if it is the
  // current one.
  std::vector<ZoneId> AddedBy(std::uint64_t generation, std::uint64_t salt) const;
};

// Errors: those of a report. An unreadable header is not an error.
[[nodiscard]] Result<LogFingerprint> TakeLogFingerprint(ZonedDevice& device, const Superblock& superblock);

// Compares zones, write pointers and headers, but not the time.
[[nodiscard]] bool SameLog(const LogFingerprint& a, const LogFingerprint& b);

struct LogCheck {
  bool moved = true;  // false proves that since `then` nothing was committed and no metadata zone changed
  // If not moved: `then` is still valid at this time. Later than `then.taken` if the headers were compared.
  SteadyTime confirmed;
};
// Compares `then` with the device at the time of the call.
[[nodiscard]] Result<LogCheck> CheckLog(ZonedDevice& device, const Superblock& superblock,
                                        const LogFingerprint& then);

struct Replayed {
  State state;
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;
  // All zones of the generation, by place; the copies of a place follow each other.
  std::vector<ZoneId> chain;
  std::uint32_t places = 0;  // the length of the chain; a place is one zone or a pair
  std::uint32_t copies = 1;  // zones of each place, when it was written
  // The zones of the last place that hold all its frames and can take the next one. `capacity`: that of the smallest zone of
  // that place, in bytes. `position`: after the last valid frame, in bytes.
  std::vector<ZoneId> tail;
  std::uint64_t capacity = 0;
  std::uint64_t position = 0;
  // Zones that do not hold all that they once held, while the other zone of their pair does; also the zone of a pair whose log
  // header is gone.
  std::set<ZoneId> lost_copies;
  std::set<ZoneId> torn_copies;          // those of them that lack only the last frame, as after a power loss
  std::uint64_t frames = 0;              // replayed frames of the generation
  std::uint64_t sequence = 0;            // of the last commit
  std::uint64_t highest_generation = 0;  // highest number in any log header
  std::vector<ZoneId> added_zones;  // named by the headers of the generation, besides those of the superblock
  // If set, a log switch had begun, and writes so many zones at a time.
  std::optional<std::uint32_t> announced_copies;
  bool newer_traces = false;  // zones hold frames of a generation that never became complete
  // Why a newer generation may exist. If set, only a read-only mount is safe.
  std::optional<std::string> doubt;
  ZoneId doubtful_zone{};  // the zone that may hold the newer generation

  bool tail_is_clean() const { return !tail.empty(); }  // the next frame may be written at `position`
};

// Errors: kCorruption if no generation is complete, or if a complete one cannot be read.
[[nodiscard]] Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock);

// The metadata zones: those of the superblock, and those that the headers of the current generation name. Replays the log if
// headers name any. If the log is damaged, those that may belong to it.
[[nodiscard]] std::vector<ZoneId> MetadataZones(ZonedDevice& device, const Superblock& superblock);
// The zones of the superblock, then `added`.
[[nodiscard]] std::vector<ZoneId> WithAdded(const Superblock& superblock, std::span<const ZoneId> added);
// The zones of the newest complete generation, in chain order; empty if there is none.
[[nodiscard]] std::vector<ZoneId> NewestGenerationZones(ZonedDevice& device, const Superblock& superblock);

// A metadata zone whose log header is valid.
struct MetazoneHead {
  ZoneInfo info;
  LogHeader header;
};

// Replays the frames of one generation over the zones of its chain.
//
// A place of the chain is one zone, or a pair of zones with the same frames at the same offsets. Of a pair, each frame is
// taken from the zone where it is valid; a frame that is valid in one zone only is as good as one in both, because nothing
// tells whether the other zone lost it or never got it.
//
// States, and the events that end them:
//   snapshot and catch-up --SwitchComplete--> complete --first invalid frame--> end of the log
//                         --invalid frame, no next zone--> not complete (Read returns false)
//
// Each Read continues where the last one ended; so a reader follows a writer. After an error, discard the object.
class GenerationReader {
 public:
  // `first`: the header of any zone of the generation. `device` and `superblock` must outlive the reader.
  GenerationReader(ZonedDevice& device, const Superblock& superblock, const LogHeader& first);

  // `chain`: the zones of the generation that were found, by chain index and copy, at least one.
  // Returns true if the generation is complete and was replayed, false if it ends before its SwitchComplete.
  // Errors: kCorruption if durable commits are missing or contradict the state.
  [[nodiscard]] Result<bool> Read(const std::vector<MetazoneHead>& chain);

  // True if every block of the chain given to the last Read belongs to a valid frame of this generation. Then no frame
  // follows a gap.
  bool read_everything() const { return read_everything_; }
  const Replayed& replayed() const { return out_; }
  // "its frame 3 in zone 1 at byte 12288 cannot be read"
  std::string where_it_ended() const;
  // Call after Read returned true.
  Replayed Take() { return std::move(out_); }

 private:
  // One zone of the place that is being read.
  struct Copy {
    Copy(ZonedDevice& device, const ZoneInfo& zone, FrameSeed its_seed)
        : info(zone), seed(its_seed), reader(device, zone.id, zone.WrittenBytes()) {}

    const ZoneInfo info;
    const FrameSeed seed;
    ZoneReader reader;
  };

  Status ReadPlace(std::span<const MetazoneHead> heads);
  // Returns false if frames between the chain so far and this place are missing.
  bool EnterPlace(std::span<const MetazoneHead> heads, std::vector<Copy>& copies);
  // The frame at the position, from the first copy that has it; invalid if none has.
  Result<ParsedFrame> NextFrame(std::vector<Copy>& copies);
  // Errors of these name neither the device nor the place.
  Status Carry(const ParsedFrame& frame);
  Status ReplayEdits(EditListReader& list);
  Status CarryCommit(const ParsedFrame& frame);
  Status CarrySwitchComplete(const ParsedFrame& frame);
  void NoteTail(std::span<const Copy> copies);
  // Fails if a valid frame follows the end of the log: the missing frames were durable then.
  Status CheckTail(std::vector<Copy>& copies);
  std::string Here() const;
  Error Corrupt(const std::string& what) const;

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  Replayed out_;
  ZoneId zone_;     // copy 0 of the place that was read last, or its only readable one
  ZoneId primary_;  // copy 0 of that place, readable or not
  bool complete_ = false;
  bool read_everything_ = false;
};

// Finds the newest complete generation and replays it. Later calls replay only new frames.
class Generations {
 public:
  // `device` and `superblock` must outlive this.
  Generations(ZonedDevice& device, const Superblock& superblock)
      : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {}

  struct Found {
    GenerationReader* reader = nullptr;  // of the newest complete generation; valid until the next call
    bool newer_incomplete = false;       // a higher generation exists that is not complete (yet)
    // If so: the zones in which each of its frames was written; the fewest of all such.
    std::uint32_t newer_copies = 2;
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
  // No generation is complete.
  Error NothingComplete(const LogFingerprint& fingerprint, std::size_t zones_of_first_generation) const;
  // Finds a SwitchComplete of generation `min_generation` or higher anywhere in the zone.
  std::optional<FoundSwitchComplete> SearchSwitchComplete(const ZoneInfo& info, std::uint64_t min_generation);

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  std::map<Key, GenerationReader> readers_;  // of complete and of unfinished generations
};

}  // namespace zenfs
