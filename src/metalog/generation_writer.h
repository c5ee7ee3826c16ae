// Writes one generation of the metadata log: a chain of places. A place is one zone, or a pair of zones that get the same
// frames at the same offsets. Each zone has a superblock, a log header and frames; the frames are numbered through the
// whole chain. docs/formats/metadata-log.md describes their order.
//
// Invariants
//   - The next frame goes to position(). A failed write does not move it; the place is not written again. So the zones of a
//     pair differ at most in the frame behind position().
//   - All zones but those of the last place are full or finished: a generation has one active zone for each copy.
//   - Sequences of commits rise by one, and no frame exceeds its zone; CheckNextCommit verifies both.
//
// Threads: one at a time, ensured by the caller.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"
#include "metalog/metazones.h"
#include "metalog/replay.h"

namespace zenfs {

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
  // To continue a generation that was found on the device.
  struct Resume {
    std::uint64_t generation = 0;
    std::uint64_t salt = 0;
    std::vector<ZoneId> chain;  // all zones
    std::vector<ZoneId> added;  // the added zones that its headers name
    std::vector<ZoneId> tail;   // those of the last place that are written on, at least one
    std::uint32_t places = 1;
    std::uint64_t capacity = 0;  // of the smallest zone of the last place
    std::uint64_t position = 0;  // in the last place
    std::uint64_t ordinal = 0;   // of the next frame
    std::uint64_t sequence = 0;  // of the last commit
  };

  GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones, Start start);
  GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones, Resume resume);

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
  std::uint64_t position() const { return position_; }
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

// Behind the last frame of the replayed log.
[[nodiscard]] GenerationWriter::Resume ResumeOf(const Replayed& replayed);

}  // namespace zenfs
