// Writes one generation of the metadata log: a chain of zones. Each zone has a superblock, a log header and frames; the
// frames are numbered through the whole chain. docs/formats/metadata-log.md describes their order.
//
// Invariants
//   - The next frame goes to position(). A failed write does not move it; the zone is not written again.
//   - All zones of the chain but the last are full or finished: a generation has one active zone.
//   - Sequences of commits rise by one, and no frame exceeds its zone; CheckNextCommit verifies both.
//
// Threads: one at a time, ensured by the caller.
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
    std::vector<ZoneId> keep;         // zones of the current generation, which must not be reused
    ZoneId after;                     // prefer the next zone after this one
  };
  // To continue a generation that was found on the device.
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

  // Begins the first or next zone of the chain and makes its header durable before any other frame. Otherwise a torn
  // write could leave the zone's old frames visible behind its old header, which would make them valid.
  // Errors: the device's; kNoSpace if no zone is left.
  [[nodiscard]] Status BeginZone();

  // Returns kCorruption if commits `first_sequence` to `last_sequence` do not follow the last one, or if the position is
  // outside the zone or not on a block boundary. Both are bugs.
  [[nodiscard]] Status CheckNextCommit(std::uint64_t first_sequence, std::uint64_t last_sequence) const;
  // Errors: kNoSpace if the frame does not fit (nothing was written); the device's. Any device error but kBusy makes the
  // zone distrusted.
  [[nodiscard]] Status Write(FrameKind kind, std::string_view payload, std::uint64_t first_sequence,
                             std::uint64_t last_sequence);

  // Longest payload, in bytes, that fits in this zone and leaves `reserve` bytes free. 0 if none fits.
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
  // May be called from any thread.
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // Call after the zone was finished: sets room() to 0.
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
