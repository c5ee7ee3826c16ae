// The sync blocks: blocks in the zone random write area (ZRWA) of one log zone, which small syncs rewrite. Without them
// each synced record takes a block of a log zone for itself, however small it is.
//
//   sync zone   | a0 | a1 | b0 | b1 | .. | free ...      its write pointer stays at its start
//                 file A    file B
//
// A file has two blocks and writes them in turns, each time the whole of its last, unfinished frame (a version). So a
// write that is torn by a power loss takes the version before the last one, never the last one. When the
// frame fills a block, it goes to an ordinary log zone. docs/formats/log.md, "Sync blocks", has the rules
// for readers. FramedFile decides which syncs are small.
//
// The zone is allocated when a file first needs a block. No frame in it is live, so a mount releases the
// sync zones of earlier mounts as dead log zones, once it has placed their frames anew.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "wal/log_zones.h"

namespace zenfs {

// The sync zone of a mount, and which of its blocks are taken.
//
// The metadata marks the zone before its area is opened, because not every way to the device reports areas.
//
// Ownership: the parts in Deps outlive it; it outlives each Pair.
// Threads: any. mutex_ is held for no I/O. The first Take commits an allocation and the mark, and opens the zone.
class SyncArea {
 public:
  struct Deps {
    ZonedDevice* device = nullptr;
    LogZones* log_zones = nullptr;
    LogZoneSupply* supply = nullptr;
    LogZoneAllocations* allocations = nullptr;
    bool enabled = false;  // the device has random write areas, and an active slot for one
  };

  explicit SyncArea(const Deps& deps) : deps_(deps), off_(!deps.enabled) {}

  // The two blocks of one file. They are free again when it is destroyed.
  class Pair {
   public:
    Pair(Pair&& other) noexcept : area_(std::exchange(other.area_, nullptr)), number_(other.number_) {}
    Pair& operator=(Pair&& other) noexcept {
      std::swap(area_, other.area_);
      std::swap(number_, other.number_);
      return *this;
    }
    ~Pair() {
      if (area_ != nullptr) area_->Free(number_);
    }
    FrameSeed seed() const { return area_->cursor_.seed; }
    // Writes one of the two blocks. Errors: those of the device.
    [[nodiscard]] Status Write(bool second, ByteView block) const;

   private:
    friend class SyncArea;
    Pair(SyncArea* area, std::uint32_t number) : area_(area), number_(number) {}

    SyncArea* area_;  // null: moved from
    std::uint32_t number_;
  };

  // Pairs that are used, however large the area is: an emulated device may claim any size.
  static constexpr std::uint32_t kPairsMax = 65'536;
  // None if there is no area, or no pair is free.
  std::optional<Pair> Take() EXCLUDES(mutex_);
  // Resets the zone and commits its release: for the end of a mount, when all bytes are in the log and nobody writes any
  // more. If that fails, the next mount does it.
  void Release() EXCLUDES(mutex_);
  bool off() const { return off_.load(std::memory_order_relaxed); }
  std::uint32_t block_size() const { return deps_.device->geometry().block_size; }
  std::uint64_t blocks_written() const { return blocks_written_.load(std::memory_order_relaxed); }

 private:
  enum class State { kNone, kOpening, kOpen };

  [[nodiscard]] Result<LogCursor> OpenZone();
  void Free(std::uint32_t number) EXCLUDES(mutex_);

  std::uint64_t PairBytes() const { return 2 * std::uint64_t{block_size()}; }
  // Bytes of the area that hold blocks.
  std::uint64_t BytesIn(const LogCursor& cursor) const {
    return std::min({deps_.device->geometry().random_area_bytes, cursor.room, kPairsMax * PairBytes()});
  }

  const Deps deps_;
  Mutex mutex_{LockRank::kLeaf};
  State state_ GUARDED_BY(mutex_) = State::kNone;
  std::uint32_t pairs_ GUARDED_BY(mutex_) = 0;  // of the open zone
  std::uint32_t taken_ GUARDED_BY(mutex_) = 0;  // pairs below this number were taken at least once
  std::vector<std::uint32_t> freed_ GUARDED_BY(mutex_);
  LogCursor cursor_;       // constant once open
  std::atomic<bool> off_;  // there is no area, for the rest of the mount
  std::atomic<std::uint64_t> blocks_written_{0};
};

// The versions of the last frame of one file, in its two blocks.
//
// Invariant: the block with the last version that was confirmed is not written. So Write takes the other one, until Confirm.
//
// Threads: one at a time; the file's turn guards it. off() and GiveUp: under the lock of the file.
class SyncBlocks {
 public:
  // `area` outlives it. Null, or off: there are no blocks.
  explicit SyncBlocks(SyncArea* area) : area_(area == nullptr || area->off() ? nullptr : area) {}

  // True if no version can be written any more. Blocks that were written keep their bytes.
  bool off() const { return area_ == nullptr; }
  void GiveUp() { area_ = nullptr; }

  // Payload of the longest version. Unless off().
  std::uint64_t room() const { return area_->block_size() - kFrameHeaderBytes; }
  // True if the file has its two blocks.
  bool taken() const { return pair_.has_value(); }
  // Takes two blocks, if there are any.
  void Take();
  // The memory for a frame of `length` bytes of payload, which the caller fills behind the header. After Take.
  AlignedBuffer& Image(std::uint64_t length);
  // Writes the frame in the image, with `header`, as a new version. Errors: those of the device.
  [[nodiscard]] Status Write(const FrameHeader& header);
  // The version written last is on stable media.
  void Confirm() { confirmed_second_ = written_second_; }
  // Frees the blocks: no byte depends on them.
  void Free() { pair_.reset(); }

 private:
  SyncArea* area_;
  std::optional<SyncArea::Pair> pair_;
  bool confirmed_second_ = true;  // so the first version is in the first block
  bool written_second_ = false;
  AlignedBuffer image_;
};

}  // namespace zenfs
