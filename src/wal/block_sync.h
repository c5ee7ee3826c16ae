// Syncs the last, unfinished frame of one framed file in its two sync blocks (wal/sync_area.h).
//
//   map end           size()
//   v                 v
//   | buffered bytes  |      at most a block with the frame header: written as one version of the next frame
//
// The bytes stay buffered, and the map does not know the frame. When they no longer fit in a block, a frame that
// fills one goes to the log first. Whatever sends the bytes to the log later (a full buffer, the drain, a
// sync that is too large) uses the same sequence, so the version in the sync block is a copy that agrees
// with it, and dead.
//
// Invariant: the bytes up to FramedFileParts::sync_end are on stable media: in the log, or in the block
// that was written last. That block is not written again before a sync in the other one has succeeded.
//
// Ownership: the device and the log outlive it.
// Threads: any, with the lock of the file held; the lock is released during I/O. The thread takes the turn.
#pragma once

#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "wal/framed_file_parts.h"
#include "wal/log_space.h"

namespace zenfs {

class BlockSync {
 public:
  // `log` null: the file is only read.
  BlockSync(ZonedDevice& device, LogSpace* log, FileId id)
      : device_(device),
        area_(log == nullptr || log->sync_area().off() ? nullptr : &log->sync_area()),
        log_(log),
        id_(id) {}

  // True if Sync may be called instead of FrameSender::Send.
  bool Suits(const FramedFileParts& file) const REQUIRES(file.mutex);
  // Takes the turn and makes the bytes appended so far stable. If that cannot be done in a sync block, it changes
  // nothing and returns OK, and Suits is false from then on. Errors: those of FrameWriter::Place and of a
  // flush; the state records the repairs.
  [[nodiscard]] Status Sync(FramedFileParts& file) noexcept REQUIRES(file.mutex);
  // The file is no longer written: gives the blocks back, if no byte depends on them.
  void EndWriting(FramedFileParts& file) REQUIRES(file.mutex);

 private:
  std::uint64_t RoomInBlock() const { return device_.geometry().block_size - kFrameHeaderBytes; }
  [[nodiscard]] Status SyncAll(FramedFileParts& file) REQUIRES(file.mutex);
  [[nodiscard]] Status PlaceFullBlock(FramedFileParts& file) REQUIRES(file.mutex);
  [[nodiscard]] Status WriteBlock(FramedFileParts& file) REQUIRES(file.mutex);
  bool HasPair(FramedFileParts& file) REQUIRES(file.mutex);
  // The frame of the first `length` bytes behind the map, in image_.
  FrameJob Fill(const FramedFileParts& file, std::uint64_t length) REQUIRES(file.mutex);
  void GiveUp();

  ZonedDevice& device_;
  SyncArea* area_;  // null: not used, or not any more
  LogSpace* const log_;
  const FileId id_;
  // For the thread that has the turn.
  std::optional<SyncArea::Pair> pair_;
  bool last_was_second_ = true;  // so the first version is in the first block
  AlignedBuffer image_;
};

}  // namespace zenfs
