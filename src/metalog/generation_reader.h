// Replays the frames of one generation of the metadata log over the zones of its chain. Internal to metalog/.
//
// States of the reader, and what ends each:
//   snapshot and catch-up --RollComplete--> proven --first invalid frame--> end of the log
//                         --invalid frame, no next zone--> not complete (Read returns false)
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

class GenerationReader {
 public:
  // `chain`: all zones found of one generation, by chain index. All must outlive the reader.
  GenerationReader(ZonedDevice& device, const Superblock& superblock, const std::vector<MetazoneHead>& chain);

  // True when the generation is complete and was replayed, false when it ends before its RollComplete.
  // Errors: kCorruption when commits that were durable are missing, or contradict the state.
  [[nodiscard]] Result<bool> Read();

  std::uint64_t sequence() const { return out_.sequence; }
  // "its frame 3 in zone 1 at byte 12288 cannot be read"
  std::string where_it_ended() const;
  // After Read returned true. `doubt` is set, to anything, if a roll had begun.
  Replayed Take() { return std::move(out_); }

 private:
  Status ReadZone(const MetazoneHead& head);
  Status Carry(const ParsedFrame& frame);
  Status CarryCommit(const ParsedFrame& frame);
  Status CarryRollComplete(const ParsedFrame& frame);
  // Refuses if a frame behind the end of the log proves that what is missing had been durable.
  Status CheckTail(const MetazoneHead& head, ZoneReader& reader);
  Error Corrupt(const std::string& what) const;

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  const std::vector<MetazoneHead>& chain_;
  Replayed out_;
  ZoneId zone_;
  bool complete_ = false;
};

}  // namespace zenfs
