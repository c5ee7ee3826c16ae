// Writes one generation of the metadata log: a chain of places. A place is one zone, or a pair of zones that get the same
// frames at the same offsets. Each zone has a superblock, a log header and frames; the frames are numbered through the
// whole chain. docs/formats/metadata-log.md describes their order.
//
// Invariants
//   - The next frame goes to position_. A failed write does not move it; the place is not written again. So the zones of a
//     pair differ at most in the frame behind position_.
//   - All zones but those of the last place are full or finished: a generation has one active zone for each copy.
//   - Sequences of commits rise by one, and no frame exceeds its zone; CheckNextCommit verifies both.
//
// Threads: one at a time, ensured by the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"
#include "metalog/metazones.h"
#include "model/state.h"

namespace zenfs {

struct Replayed;

// Fills the first layout.frames_at bytes of `buffer` with what a metadata zone begins with. `ordinal`: of the log header.
void PutHead(const Superblock& superblock, const LogHeader& header, ZoneId zone, std::uint64_t ordinal,
             const MetazoneLayout& layout, AlignedBuffer& buffer);

class GenerationWriter {
 public:
  struct Start {
    std::uint64_t generation = 0;
    std::uint64_t salt = 0;
    std::uint64_t base_sequence = 0;  // the snapshot is as of this commit
    std::vector<ZoneId> keep;         // zones of the current generation, which must not be reused
    ZoneId after;                     // prefer the next zone after this one
    std::uint32_t copies = 1;         // zones of each place
  };

  // A new generation. Call BeginZone first.
  GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones, Start start);
  // Continues the generation of `found` behind its last frame.
  GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                   const Replayed& found);

  // Begins the first or next place of the chain and makes its headers durable before any other frame. Otherwise a torn
  // write could leave a zone's old frames visible behind its old header, which would make them valid.
  // Errors: the device's; kNoSpace if too few zones are left.
  [[nodiscard]] Status BeginZone();

  // Returns kCorruption if commits `first_sequence` to `last_sequence` do not follow the last one, or if the position is
  // outside the zone or not on a block boundary. Both are bugs.
  [[nodiscard]] Status CheckNextCommit(std::uint64_t first_sequence, std::uint64_t last_sequence) const;
  // Errors: kNoSpace if the frame does not fit (nothing was written); kBusy if nothing was written because the device has
  // no slot; kZoneFull if one zone of a pair has the frame and the other one has not; the device's. Any device error but
  // kBusy makes its zone distrusted.
  [[nodiscard]] Status Write(FrameKind kind, std::string_view payload, std::uint64_t first_sequence,
                             std::uint64_t last_sequence);

  // Writes the snapshot, in as many places as it needs. `state`: as of the base sequence; it must not change during the call.
  // Errors: those of BeginZone and Write.
  [[nodiscard]] Status WriteSnapshot(const State& state);
  // Writes the frame that completes the generation, after its last commit. Flush before and after it. Errors: those of Write.
  [[nodiscard]] Status WriteSwitchComplete();

  // Longest payload, in bytes, that fits in this place and leaves `reserve` bytes free. 0 if none fits.
  std::uint64_t PayloadRoom(std::uint64_t reserve) const;
  // Bytes from the position to the end of the place.
  std::uint64_t room() const { return capacity_ - position_; }

  std::uint64_t generation() const { return generation_; }
  std::uint64_t salt() const { return salt_; }
  std::uint64_t frames() const { return ordinal_; }
  std::uint32_t chain_index() const { return places_ - 1; }
  // All zones of the generation.
  const std::vector<ZoneId>& chain() const { return chain_; }
  // The zones that take the next frame: one, or a pair.
  std::vector<ZoneId> tail() const;
  std::uint32_t copies() const { return static_cast<std::uint32_t>(copies_.size()); }
  // One of the tail, for messages and as the place from which to look for the next zone.
  ZoneId zone() const { return copies_.back().zone; }
  std::uint64_t zone_capacity() const { return capacity_; }
  // May be called from any thread.
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // Lets go of the device, which may be destroyed before this object. Nothing is written afterwards.
  void ReleaseDevice() { queue_.reset(); }
  // Finishes the zones of the tail. After OK, room() is 0.
  [[nodiscard]] Status CloseZone();

 private:
  struct Copy {
    ZoneId zone;
    FrameSeed seed;
    AlignedBuffer buffer;  // what is sent to the zone next
    Status written;        // the outcome of the last write
  };

  Status WriteHead(ZoneId previous);
  void Reserve(std::uint64_t bytes);
  // Writes the first bytes of each buffer to its zone, to both of a pair at the same time.
  Status Send(std::uint64_t bytes);
  void WriteBoth(std::uint64_t bytes);
  DeviceOffset PlaceIn(const Copy& copy) const { return device_.geometry().ZoneStart(copy.zone) + position_; }

  ZonedDevice& device_;
  const Superblock& superblock_;
  Metazones& zones_;
  const MetazoneLayout layout_;
  const std::uint64_t generation_;
  const std::uint64_t salt_;
  const std::uint64_t base_sequence_;
  const std::vector<ZoneId> keep_;
  const ZoneId after_;
  const std::uint32_t wanted_copies_;
  // As all headers of the generation name them: a reader takes them from those in the zones of the superblock.
  const std::vector<ZoneId> added_;
  std::vector<ZoneId> chain_;
  std::uint32_t places_ = 0;
  ZoneId primary_ = kNoZone;  // copy 0 of the last place
  std::vector<Copy> copies_;  // of the last place
  std::unique_ptr<IoQueue> queue_;
  std::uint64_t capacity_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t ordinal_ = 0;
  std::uint64_t sequence_ = 0;  // of the last commit
  std::atomic<std::uint64_t> bytes_written_ = 0;
};

// The generation that takes the commits, and whether it still takes them.
//
//     clean --Fence--> fenced --MoveTo--> clean
//     torn  ------------------- MoveTo--> clean
//
//   torn     the replay found a torn frame at the end. Nothing is written behind it
//   fenced   a write has an unknown outcome. Nothing more is written
//
// A complete log switch moves the log to its generation. If a log switch fails in a state other than clean, the log has
// to become read-only.
//
// Invariants
//   generation numbers rise; TakeNumber returns each number once
//   the writer stays the same while a thread leads (group_commit.h), unless that thread calls MoveTo
//
// Ownership: owns the writer of the generation.
// Threads: no lock; the lock of the log guards it (metalog.h). Only the leader uses the writer; it does so without
// the lock.
// Units: bytes. Errors: none.
class CurrentGeneration {
 public:
  // `writer` null: the device is read-only. `highest`: the highest number that a generation on the device has, complete
  // or not.
  CurrentGeneration(std::unique_ptr<GenerationWriter> writer, bool tail_is_clean, std::uint64_t highest)
      : writer_(std::move(writer)), tail_is_clean_(tail_is_clean), last_number_(highest) {}

  // False if the device is read-only. The functions from writer() on need a writer.
  bool has_writer() const { return writer_ != nullptr; }
  bool fenced() const { return fenced_; }
  bool tail_is_clean() const { return tail_is_clean_; }
  // True if frames may be written.
  bool clean() const { return !fenced_ && tail_is_clean_; }

  GenerationWriter& writer() {
    ZENFS_ASSERT(has_writer());
    return *writer_;
  }
  const GenerationWriter& writer() const {
    ZENFS_ASSERT(has_writer());
    return *writer_;
  }
  // True if a log switch should run: less room is left in the zone than SetSwitchRoom or MoveTo chose, or it would make the
  // second copy.
  bool WantsSwitch() const { return writer_->room() < switch_at_room_ || lacks_copy_; }
  bool lacks_copy() const { return lacks_copy_; }
  void SetSwitchRoom(std::uint64_t bytes) { switch_at_room_ = bytes; }
  void Fence() { fenced_ = true; }
  std::uint64_t TakeNumber() { return ++last_number_; }
  // The generation of `next` is complete. `lacks_copy`: it has one copy, and there is reason to expect that the next log
  // switch makes two. Returns the writer of the old one. `switch_reserve`: room for the commits during
  // a log switch.
  std::unique_ptr<GenerationWriter> MoveTo(std::unique_ptr<GenerationWriter> next,
                                           std::uint64_t switch_reserve, bool lacks_copy) {
    ZENFS_ASSERT(next->generation() > writer_->generation() && next->generation() <= last_number_);
    // At least half of the remaining room is used before the next log switch. Otherwise a large snapshot would cause a
    // switch after every few commits.
    switch_at_room_ = std::min(switch_reserve, next->room() / 2);
    tail_is_clean_ = true;
    fenced_ = false;
    lacks_copy_ = lacks_copy;
    return std::exchange(writer_, std::move(next));
  }
  // A log switch failed. The next one is wanted later.
  void NoteSwitchFailed() {
    switch_at_room_ /= 2;
    lacks_copy_ = false;
  }

 private:
  std::unique_ptr<GenerationWriter> writer_;
  bool tail_is_clean_;
  bool fenced_ = false;
  bool lacks_copy_ = false;
  std::uint64_t last_number_;
  std::uint64_t switch_at_room_ = 0;
};

}  // namespace zenfs
