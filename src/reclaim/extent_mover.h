// Moves the live extents out of a zone, so that it can be reset.
//
// Rule 5 of the design: a file points to a copy only after the copy was written, read back and found the same, flushed
// and committed; on any error the old extent stays. An extent whose bytes do not have its checksum is not moved: what
// was right once may be got back from the device by other means, and a copy with a checksum of its own would hide the
// damage. Copies carry checksums. The copies are made without holding anything up: a file that was
// changed meanwhile keeps its old extents, and the copy becomes garbage.
//
// Copies are committed a piece at a time, so an attempt that ends early has wasted no more than one piece, and what was
// committed before stays moved. An extent that is longer than a piece is read as a whole first, to hold it against its
// checksum before the first piece of it moves.
//
//   WithFile{ nobody writes it? } --> copy, compare --> WithFile{ same extents as copied? --> commit --> NoteMoved }
//        ^------------------------------------ next piece -----------------------------------------------+
//
// Threads: MoveOut from one thread at a time; Stop from any.
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
#include "model/edit.h"
#include "model/file_record.h"
#include "zone/extent_sink.h"

namespace zenfs {

// The committed files, as the mover finds and changes them.
class MovableFiles {
 public:
  virtual ~MovableFiles() = default;

  // Committed files that have extents in the zone.
  virtual std::vector<std::shared_ptr<const FileRecord>> FilesIn(ZoneId zone) const = 0;
  // Runs `body` on the file as it is committed, while nobody else changes it. Must not wait for anybody who may wait for
  // space. Errors: those of `body`; kBusy if the file is in use, or gone.
  [[nodiscard]] virtual Status WithFile(FileId id, const std::function<Status(const FileRecord&)>& body) = 0;
  // Commits after a flush of the device's cache.
  [[nodiscard]] virtual Status CommitMoved(std::vector<Edit> edits) = 0;
  // kNoSpace if a commit of so many extents would be refused; asked before anything is copied.
  [[nodiscard]] virtual Status CheckRoomForExtents(std::size_t extents) const = 0;
  // The file's extents are now these, which whoever has it open should know. Called within WithFile, while the copies and
  // what they were copied from are pinned. False if a writer goes on where the file was, and may commit that again.
  virtual bool NoteMoved(const FileRecord& before, const std::vector<Extent>& extents) = 0;
};

class ExtentMover {
 public:
  // After each piece that was copied, with the time that took: to go slowly. May be empty.
  using Pause = std::function<void(std::chrono::nanoseconds)>;

  // All of them outlive it. `sink` is one for WritePurpose::kReclaim.
  ExtentMover(ZonedDevice& device, ZoneManager& zones, ExtentSink& sink, MovableFiles& files);

  // OK when no committed file has an extent in `zone` any more. Errors: those of reading, writing, committing;
  // kCorruption when a copy did not read back as it was written, or a file's bytes are not what its checksums say (the
  // zone is emptied of the others then); kBusy when a file could not be moved just now;
  // kShutdown after Stop.
  [[nodiscard]] Status MoveOut(ZoneId zone, const Pause& pause = {});
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

  std::uint64_t bytes_moved() const { return bytes_moved_.load(std::memory_order_relaxed); }

 private:
  struct Buffer {  // allocated with its first use
    std::uint64_t capacity = 0;
    AlignedBuffer memory{};
  };
  // What is committed together: fronts of extents, and their copies. Those of `from` have checksums once they are copied.
  struct Copy {
    std::vector<Extent> from;
    std::vector<Extent> to;
    std::vector<ZonePin> pins;
  };
  [[nodiscard]] Status MoveFile(FileRecord file, ZoneId zone, const Pause& pause);
  Copy NextCopy(const FileRecord& file, ZoneId zone) const;
  // The extents of the file behind the commit.
  [[nodiscard]] Result<std::vector<Extent>> MoveCopy(const FileRecord& file, Copy& copy, const Pause& pause);
  [[nodiscard]] Status SumPieces(const Extent& extent, const Pause& pause);
  [[nodiscard]] Result<ByteView> ReadFront(const FileRecord& file, Extent& front);
  [[nodiscard]] Status CopyFront(const Extent& front, ByteView bytes, Lifetime lifetime, Copy& copy);
  [[nodiscard]] Result<ByteView> Read(Buffer& buffer, std::uint64_t at, DeviceOffset place,
                                      std::uint64_t length);
  [[nodiscard]] Status Damaged(const Extent& extent) const;
  [[nodiscard]] Status Verify(DeviceOffset place, ByteView written);

  ZonedDevice& device_;
  ZoneManager& zones_;
  ExtentSink& sink_;
  MovableFiles& files_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> bytes_moved_{0};
  // Of MoveOut: a claim for each lifetime, so that copies keep to zones of their own while there are enough.
  std::array<SinkCursor, kLifetimeCount> cursors_;
  Buffer piece_;
  Buffer check_;
  Buffer window_;
  // Of the extent that is being moved, if it is longer than a piece: the checksums of its pieces, by file offset, and where
  // what stands in window_ begins, if it fits.
  std::map<std::uint64_t, std::uint32_t> sums_;
  std::optional<DeviceOffset> window_begin_;
  std::uint64_t window_bytes_ = 0;
};

// `file`'s extents with those of `from` replaced by `to`, and the edit that makes them so.
struct MovedExtents {
  std::vector<Extent> all;
  SetExtents edit;
};
// `from` are extents of the file, or fronts of extents, with the checksums of their bytes; `to` covers the same file
// bytes; both in file order.
[[nodiscard]] MovedExtents ReplaceExtents(const FileRecord& file, const std::vector<Extent>& from,
                                          const std::vector<Extent>& to, const Geometry& geometry);

}  // namespace zenfs
