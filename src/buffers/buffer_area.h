// The append buffers of one mount, in shared memory (base/shared_memory.h). They let Flush survive
// the death of the process without a device write. docs/internals/architecture.md, "Flush",
// describes the protocol.
//
//   Create -> [place committed to the metadata log] -> Take/AppendBuffer ... -> Retire -> [all written out]
//          -> [empty place committed] -> Remove
//
// The buffer of a slot gets its pages when the slot is first taken, so that many slots cost little; a few have
// them from the start, so that a full tmpfs is noticed at the mount. If the tmpfs has no room for one more,
// the area makes do with the buffers that have pages.
//
// If the area is retired or full, a buffer uses private memory. Its user must then write to the
// device what has to survive (AppendBuffer::survives_process).
//
// Threads: any; the free list is atomic.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork_guard.h"
#include "base/mutex.h"
#include "base/shared_memory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "format/buffer_area_layout.h"
#include "model/edit.h"

namespace zenfs {

class BufferArea {
 public:
  struct Options {
    std::string directory;  // on a tmpfs
    std::string identity;   // of the device; not empty
    Uuid volume;
    std::uint64_t epoch = 0;
    std::uint32_t slots = 32;
    std::uint64_t buffer_bytes = 256 << 10;
    std::uint64_t metrics_bytes = 0;
    std::uint32_t zones = 0;  // of the device
  };

  // Errors: those of SharedMemory::Create; kInvalidArgument for a path that is too long.
  [[nodiscard]] static Result<std::shared_ptr<BufferArea>> Create(const Options& options);
  ~BufferArea() = default;

  // The text in the metadata log: the boot id of the host and the path of the file.
  const std::string& place() const { return place_; }
  // The edit that the mount commits before it uses a buffer: place, key and maker.
  SetBufferPlace PlaceEdit() const;
  const std::string& path() const { return memory_.path(); }
  std::uint64_t buffer_bytes() const { return header_.buffer_bytes; }
  // Of a tail record.
  std::uint64_t extents_max() const { return RecordedExtentsMax(header_); }
  ByteSpan metrics() {
    const std::uint64_t end =
        header_.zones != 0 ? header_.resets_offset : header_.metrics_offset + header_.metrics_bytes;
    return memory_.memory().subspan(header_.metrics_offset, end - header_.metrics_offset);
  }

  // True if a reader has announced that it uses the zone (buffers/announced_zones.h).
  bool IsRead(ZoneId zone) const { return header_.zones != 0 && memory_.IsAnnounced(zone.value); }
  // Counts a reset of the zone, before it is sent.
  void NoteReset(ZoneId zone);

  // From now on no buffer survives the process, so that Flush writes to the device. True for the
  // first caller.
  bool Retire() { return !retired_.exchange(true, std::memory_order_seq_cst); }
  bool retired() const { return retired_.load(std::memory_order_seq_cst); }
  // Empties the tail slots (TakeTailSlot) of earlier openings of the file `owner`: its committed
  // state counts now.
  void Forget(std::uint64_t owner) EXCLUDES(mutex_);
  // True if a tail was given up and not forgotten yet.
  bool HasGivenUp() const EXCLUDES(mutex_);
  // Leaves the file to the next mount, and to `user` as SharedMemory::HandOver does. Buffers read as zeros afterwards.
  void HandOver(std::optional<std::uint32_t> user) { memory_.HandOver(user); }
  // Removes the name of the file. Buffers that are still in use stay usable, as private memory.
  [[nodiscard]] Status Remove() { return memory_.Unlink(); }

 private:
  friend class AppendBuffer;

  BufferArea(SharedMemory memory, const BufferAreaHeader& header, const Uuid& volume, std::string place);

  // Returns the number of a free slot whose buffer has pages, or kNoSlot.
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;
  std::uint32_t TakeSlot() EXCLUDES(mutex_);
  void ReturnSlot(std::uint32_t slot) EXCLUDES(mutex_);
  // Takes a slot for the uncommitted bytes of one opening of a plain file.
  std::uint32_t TakeTailSlot(std::uint64_t owner) EXCLUDES(mutex_);
  // The holder of the slot goes away. Its bytes stay published.
  void GiveUpSlot(std::uint32_t slot, std::shared_ptr<const void> held) EXCLUDES(mutex_);
  std::uint32_t TakeSlotLocked() REQUIRES(mutex_);
  // Gives pages to the buffer of a slot that was just taken. False if the tmpfs is full: the slot is lost.
  bool Furnish(std::uint32_t slot) EXCLUDES(mutex_);
  void NoteFree() REQUIRES(mutex_);
  void ReturnSlotLocked(std::uint32_t slot) REQUIRES(mutex_);
  BufferAreaControl& Control(std::uint32_t slot);
  ByteSpan Buffer(std::uint32_t slot);

  SharedMemory memory_;
  const BufferAreaHeader header_;
  const Uuid volume_;
  const std::string place_;
  const std::uint32_t maker_;  // user id
  const ForkGuard fork_guard_;
  std::atomic<bool> retired_{false};
  std::atomic<std::uint32_t> free_count_{0};
  mutable Mutex mutex_{LockRank::kLeaf};
  std::vector<std::uint32_t> free_ GUARDED_BY(mutex_);      // the next one to take is at the end
  std::vector<std::uint8_t> furnished_ GUARDED_BY(mutex_);  // by slot: 1 if its buffer has pages
  struct Tail {
    std::uint64_t owner;
    bool given_up = false;
    std::shared_ptr<const void> held{};
  };
  std::map<std::uint32_t, Tail> tails_ GUARDED_BY(mutex_);  // by slot
  std::atomic<std::size_t> tail_count_{0};
};

}  // namespace zenfs
