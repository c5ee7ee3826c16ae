// Replays the frames of one generation of the metadata log over the zones of its chain. Internal to metalog/.
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
//
// Threads: one at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/edit_codec.h"
#include "format/frame.h"
#include "format/metalog_payload.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"
#include "metalog/zone_reader.h"

namespace zenfs {

// A metadata zone whose log header is valid.
struct MetazoneHead {
  ZoneInfo info;
  LogHeader header;
};

// "commits 4 to 7", "commit 4"
[[nodiscard]] std::string CommitsText(std::uint64_t first, std::uint64_t last);

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
  std::uint64_t sequence() const { return out_.sequence; }
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

  // Returns false if frames between the chain so far and this place are missing.
  bool EnterPlace(std::span<const MetazoneHead> heads, std::vector<Copy>& copies);
  Status ReadPlace(std::span<const MetazoneHead> heads);
  // The frame at the position, from the first copy that has it; invalid if none has.
  Result<ParsedFrame> NextFrame(std::vector<Copy>& copies);
  void NoteTail(std::span<const Copy> copies);
  // Errors of these name neither the device nor the place.
  Status Carry(const ParsedFrame& frame);
  Status Replay(EditListReader& list);
  Status CarryCommit(const ParsedFrame& frame);
  Status CarrySwitchComplete(const ParsedFrame& frame);
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

}  // namespace zenfs
