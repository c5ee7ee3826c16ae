// Writes one generation of the metadata log: a chain of zones, each with superblock and log header, then
// frames whose ordinals run through the whole chain. docs/formats/metadata-log.md has the order of the frames.
//
// Invariants
//   position() is where the next frame goes; a write that failed leaves it, and the zone is then not written
//   again zones of the chain before the last are full or finished: one active zone a generation
//   the sequences of commits rise by one, which CheckNextCommit says; no frame goes behind the end of its zone
//
// Threads: one at a time; the caller sees to it.
#pragma once

#include <atomic>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "format/superblock.h"
#include "metalog/metazones.h"

namespace zenfs {

class GenerationWriter {
 public:
  struct Start {
    std::uint64_t generation = 0;
    std::uint64_t salt = 0;
    std::uint64_t base_sequence = 0;  // the snapshot is as of this commit
    std::vector<ZoneId> keep;         // zones of the current generation: not to be taken
    ZoneId after;                     // take the zone behind this one first
  };
  // A generation that was found on the device, to be continued.
  struct Resume {
    std::uint64_t generation = 0;
    std::uint64_t salt = 0;
    std::vector<ZoneId> chain;
    std::uint64_t capacity = 0;  // of the last zone
    std::uint64_t position = 0;  // in the last zone
    std::uint64_t ordinal = 0;   // of the next frame
    std::uint64_t sequence = 0;  // of the last commit
  };

  GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones, Start start);
  GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones, Resume resume);

  // Begins the first or next zone of the chain. Its header is durable before anything is written behind it: where that
  // is torn, what stood there before the zone was reset may show, and a header of those days would make it valid.
  // Errors: as the device's, kNoSpace when there is no zone.
  [[nodiscard]] Status BeginZone();

  // kCorruption if commits from `first_sequence` to `last_sequence` are not the next ones, or if the position is no place
  // for a frame. Both are faults of ZenFS.
  [[nodiscard]] Status CheckNextCommit(std::uint64_t first_sequence, std::uint64_t last_sequence) const;
  // Errors: kNoSpace when the frame does not fit (nothing was written), else the device's, after which the
  // zone is distrusted.
  [[nodiscard]] Status Write(FrameKind kind, std::string_view payload, std::uint64_t first_sequence,
                             std::uint64_t last_sequence);

  // Longest payload that fits in this zone if `reserve` bytes must stay free behind it; 0: none.
  std::uint64_t PayloadRoom(std::uint64_t reserve) const;
  // Bytes from the position to the end of the zone.
  std::uint64_t room() const { return capacity_ - position_; }

  std::uint64_t generation() const { return generation_; }
  std::uint64_t salt() const { return salt_; }
  std::uint64_t frames() const { return ordinal_; }
  std::uint32_t chain_index() const { return static_cast<std::uint32_t>(chain_.size() - 1); }
  const std::vector<ZoneId>& chain() const { return chain_; }
  ZoneId zone() const { return chain_.back(); }
  std::uint64_t zone_capacity() const { return capacity_; }
  std::uint64_t position() const { return position_; }
  // From any thread.
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // The zone was finished: nothing fits any more.
  void EndZone() { position_ = capacity_; }

 private:
  Status CloseZone();
  Status WriteHead(ZoneId zone, ZoneId previous);
  // Places the frame at `at` in buffer_ and returns its length on the device.
  std::uint64_t Build(std::size_t at, FrameKind kind, std::string_view payload, FrameSeed seed,
                      std::uint64_t first_sequence, std::uint64_t last_sequence);
  Status Send(std::uint64_t bytes);

  ZonedDevice& device_;
  const Superblock& superblock_;
  Metazones& zones_;
  const MetazoneLayout layout_;
  const std::uint64_t generation_;
  const std::uint64_t salt_;
  const std::uint64_t base_sequence_;
  const std::vector<ZoneId> keep_;
  const ZoneId after_;
  std::vector<ZoneId> chain_;
  FrameSeed seed_;
  std::uint64_t capacity_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t ordinal_ = 0;
  std::uint64_t sequence_ = 0;  // of the last commit
  std::atomic<std::uint64_t> bytes_written_ = 0;
  AlignedBuffer buffer_;
};

}  // namespace zenfs
