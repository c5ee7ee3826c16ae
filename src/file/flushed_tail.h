// The flushed, uncommitted part of a plain file, in an append buffer that survives the process (buffers/): a record
// of the uncommitted extents, and the bytes behind them. If the process dies, the next mount commits them.
//
// Invariants
//   the content of the last Keep or Extend survives a kill at any instruction, until the next Keep, Extend, Cut or
//   Clear
//   the zones of the recorded extents are pinned
//   end() is never beyond the end of the file
//
// Threads: not thread-safe; the file locks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/assert.h"
#include "buffers/append_buffer.h"
#include "model/edit.h"
#include "model/units.h"

namespace zenfs {

class FlushedTail {
 public:
  // If `area` is null, Keep always returns false.
  FlushedTail(std::shared_ptr<BufferArea> area, FileId owner) : area_(std::move(area)), owner_(owner) {}
  // Leaves a non-empty buffer for the next mount and its zones pinned, until BufferArea::Forget is called for the
  // file.
  ~FlushedTail();

  bool empty() const { return buffer_.empty(); }
  // True if it keeps all of a file of `size` bytes that is not committed. `revision`: PlainContent::revision().
  bool Keeps(std::uint64_t size, std::uint64_t revision) const {
    return !empty() && end() == size && revision_ == revision;
  }
  // The file offsets behind the last byte, and of the first byte that is kept here and not in an extent. Precondition:
  // !empty().
  std::uint64_t end() const { return buffer_.end(); }
  std::uint64_t device_end() const { return buffer_.file_offset(); }
  // Bytes behind the extents that Keep can take and still leave room for more; 0 if there are no buffers.
  std::uint64_t comfortable_bytes() const;

  struct Content {
    std::uint64_t device_end = 0;           // end of the extents; the file's bytes from here on are in `tail`
    std::optional<SetExtents> uncommitted;  // the uncommitted extents, if there are any
    std::shared_ptr<const void> pins;       // on their zones
    std::uint64_t tail_offset = 0;          // file offset of `tail`, <= device_end
    ByteView tail;                          // the file's bytes up to its end
    std::uint64_t appended_seconds = 0;     // PlainFile::changed_seconds()
    std::uint64_t revision = 0;             // PlainContent::revision()
  };
  // Replaces the kept content. Returns false if there is no buffer, too little room in it, or more extents than a record
  // may have; then the old content stays. Also returns false if the buffers no longer survive the process.
  [[nodiscard]] bool Keep(Content content);
  // Adds the bytes that were appended to the file since the last Keep or Extend. Returns false if the file changed in
  // another way since the last Keep (`revision`), if nothing is kept yet, if there is no room, or if the buffers no longer
  // survive the process. Uses of `content` only the tail, the time and the revision.
  [[nodiscard]] bool Extend(const Content& content);
  // Cuts the kept bytes at file offset `size`. Precondition: device_end() <= size < end().
  void Cut(std::uint64_t size) {
    ZENFS_ASSERT(device_end() <= size && size < end());
    buffer_.Cut(size - buffer_.file_offset());
  }
  // Releases the buffer. Call this once its content is committed or no longer belongs to the file.
  void Clear();

 private:
  const std::shared_ptr<BufferArea> area_;
  const FileId owner_;
  AppendBuffer buffer_;
  std::shared_ptr<const void> pins_;
  std::uint64_t order_ = 0;
  std::uint64_t revision_ = 0;  // of the last Keep
};

}  // namespace zenfs
