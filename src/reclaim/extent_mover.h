// Moves the live extents out of a zone, so that it can be reset.
//
// Design rule 5: a file points to a copy only after the copy was written, read back, compared, flushed and committed.
// After any error the old extent stays. An extent with a wrong checksum is not moved: the right bytes may still be
// recovered from the device, and a copy with a new checksum would hide the damage. Copies have checksums. Copying
// holds no lock: if a file changes meanwhile, it keeps its old extents and the copy becomes garbage.
//
// If the device copies by itself (ZonedDevice::Copy) and the checksum of the extent is known, it does the writing, and the
// checksum of what is read back replaces the comparison. After the first copy that it refuses or does wrong, it is not asked
// again.
//
// Copies are committed in pieces of at most 1 MiB. If an attempt ends early, at most one piece is wasted and the
// committed pieces stay moved. An extent that is longer than a piece is first read whole, to verify its checksum.
//
//   WithFile{ is it free? } --> copy, compare --> WithFile{ same extents as copied? --> commit --> NoteMoved }
//        ^------------------------------------ next piece -----------------------------------------------+
//
// Threads: MoveOut from one thread at a time; Stop from any thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "file/extent_checksum.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "reclaim/committed_files.h"
#include "zone/extent_sink.h"

namespace zenfs {

class ExtentMover {
 public:
  // Called after each piece with the time that it took, so that the caller can slow the mover down. May be empty.
  using Pause = std::function<void(std::chrono::nanoseconds)>;

  // All arguments outlive the mover. `sink` writes with WritePurpose::kReclaim. `device_copy`: false: the host copies.
  ExtentMover(ZonedDevice& device, ZoneManager& zones, ExtentSink& sink, MovableFiles& files,
              bool device_copy = true);

  // Returns OK if no committed file has an extent in `zone` any more. Errors: those of reads, writes and commits;
  // kCorruption if a checksum was wrong or a copy read back differently; kBusy if a file could not be moved now;
  // kShutdown after Stop. After kCorruption and kBusy all other files were moved.
  [[nodiscard]] Status MoveOut(ZoneId zone, const Pause& pause = {});
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  struct Buffer {  // allocated at its first use
    std::uint64_t capacity = 0;
    AlignedBuffer memory{};
  };
  struct Sum {
    std::uint64_t length = 0;  // of the piece; an append to the file may have cut what is left of it since
    std::uint32_t crc = 0;
  };
  // One piece, committed at once: extents or fronts of extents, and their copies. Copying sets the checksums of `from`.
  struct Copy {
    std::vector<Extent> from;
    std::vector<Extent> to;
    std::vector<ZonePin> pins;
  };
  [[nodiscard]] Status MoveFile(FileRecord file, ZoneId zone, const Pause& pause);
  Copy NextCopy(const FileRecord& file, ZoneId zone) const;
  // Returns the extents of the file after the commit.
  [[nodiscard]] Result<std::vector<Extent>> MoveCopy(const FileRecord& file, Copy& copy, const Pause& pause);
  // kShutdown once Stop was called. For each piece, because the unmount waits.
  [[nodiscard]] Status CheckNotStopped() const;
  [[nodiscard]] Status SumPieces(const Extent& extent, const Pause& pause);
  [[nodiscard]] Result<ByteView> ReadFront(const FileRecord& file, Extent& front);
  // Null if it is not known.
  const Sum* FindSum(const Extent& front) const;
  KnownCrc SumOf(const Extent& front) const;
  [[nodiscard]] Result<bool> CopyInside(Extent& front, Lifetime lifetime, Copy& copy);
  bool LeaveToHost(std::size_t first, Copy& copy);
  using Send = std::function<Result<ExtentSink::Placed>(std::uint64_t done)>;
  [[nodiscard]] Status Place(const Extent& front, Copy& copy, const Send& send);
  SinkCursor& CursorFor(Lifetime lifetime) { return cursors_[static_cast<std::size_t>(lifetime)]; }
  [[nodiscard]] Status CopyFront(const Extent& front, ByteView bytes, Lifetime lifetime, Copy& copy);
  [[nodiscard]] Result<ByteView> Read(Buffer& buffer, std::uint64_t at, DeviceOffset place,
                                      std::uint64_t length);
  [[nodiscard]] Status NotMoved(const Extent& extent) const {
    return Fail(ExtentDamage(device_, extent).With("not moved"));
  }
  [[nodiscard]] Status Verify(DeviceOffset place, ByteView written);

  ZonedDevice& device_;
  ZoneManager& zones_;
  ExtentSink& sink_;
  MovableFiles& files_;
  std::atomic<bool> stopped_{false};
  // A claim for each lifetime, so that copies have zones of their own while enough zones are left.
  std::array<SinkCursor, kLifetimeCount> cursors_;
  std::uint64_t longest_copy_;  // inside the device, in bytes; 0: the host copies
  Buffer piece_;
  Buffer check_;
  Buffer window_;
  // State of the extents of the present file that are longer than a piece.
  std::map<std::uint64_t, Sum> sums_;         // of their pieces, by file offset
  std::optional<DeviceOffset> window_begin_;  // place of the extent in window_; empty if it does not fit
  std::uint64_t window_bytes_ = 0;
};

// Bytes of metadata, about, that MoveOut writes for this file: each piece is a commit, which restates the extents of the file from
// the first moved one on.
[[nodiscard]] std::uint64_t RestatedBytes(const FileRecord& file, ZoneId zone, const Geometry& geometry);

// The extents of a file after a move, and the edit that sets them.
struct MovedExtents {
  std::vector<Extent> all;
  SetExtents edit;
};
// Replaces `from` by `to` in the extents of `file`. `from` are extents of the file or fronts of extents, with
// checksums; `to` covers the same file bytes. Both are in file order.
[[nodiscard]] MovedExtents ReplaceExtents(const FileRecord& file, const std::vector<Extent>& from,
                                          const std::vector<Extent>& to, const Geometry& geometry);

}  // namespace zenfs
