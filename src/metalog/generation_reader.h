// Replays the frames of one generation of the metadata log over the zones of its chain. Internal to metalog/.
//
// States of the reader, and what ends each:
//   snapshot and catch-up --SwitchComplete--> proven --first invalid frame--> end of the log
//                         --invalid frame, no next zone--> not complete (Read returns false)
//
// Reading goes on where it ended when Read is called again with zones that have grown: that is how a reader
// follows a writer. After an error nothing of it can be used.
//
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  // `first`: the header of one of the generation's zones. The others must outlive the reader.
  GenerationReader(ZonedDevice& device, const Superblock& superblock, const LogHeader& first);

  // `chain`: all zones found of the generation, by chain index, as they are now; at least one.
  // True when the generation is complete and was replayed, false when it ends before its SwitchComplete.
  // Errors: kCorruption when commits that were durable are missing, or contradict the state.
  [[nodiscard]] Result<bool> Read(const std::vector<MetazoneHead>& chain);

  // Every block of the chain given to the last Read was a frame of this generation: so nothing can stand
  // further on.
  bool read_everything() const { return read_everything_; }
  // What was replayed so far.
  const Replayed& replayed() const { return out_; }
  std::uint64_t sequence() const { return out_.sequence; }
  // "its frame 3 in zone 1 at byte 12288 cannot be read"
  std::string where_it_ended() const;
  // After Read returned true. `doubt` is set, to anything, if a log switch had begun.
  Replayed Take() { return std::move(out_); }

 private:
  // Whether the zone goes on where the chain before it ended.
  bool EnterZone(const MetazoneHead& head, ZoneReader& reader);
  Status ReadZone(const MetazoneHead& head);
  ParsedFrame FrameAt(std::uint64_t at, ZoneReader& reader) const;
  Status Carry(const ParsedFrame& frame);
  Status CarryCommit(const ParsedFrame& frame);
  Status CarrySwitchComplete(const ParsedFrame& frame);
  // Refuses if a frame behind the end of the log proves that what is missing had been durable.
  Status CheckTail(ZoneReader& reader);
  Error Corrupt(const std::string& what) const;

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  Replayed out_;
  ZoneId zone_;
  FrameSeed seed_;
  bool complete_ = false;
  bool read_everything_ = false;
};

}  // namespace zenfs
