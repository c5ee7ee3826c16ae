// What of a plain file was flushed and is not committed yet, in a buffer that outlives the process (staging/): where its
// uncommitted extents are, and the bytes behind them. The next mount after a death commits them.
//
// Invariants
//   what Keep or Extend took stays as it was, until the next one, Cut or Clear: a kill at any instruction finds it
//   it pins the zones of the extents that it names
//   its end is never beyond the file's
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/assert.h"
#include "model/edit.h"
#include "model/units.h"
#include "staging/staged_buffer.h"

namespace zenfs {

class FlushedTail {
 public:
  // `area` may be null: then nothing is ever kept.
  FlushedTail(std::shared_ptr<StagingArea> area, FileId owner) : area_(std::move(area)), owner_(owner) {}
  // What is still here stays for the next mount, and its zones pinned, unless StagingArea::Forget is called for the file.
  ~FlushedTail();

  bool empty() const { return buffer_.empty(); }
  // File offset behind what is kept, and of the first byte that is kept here and not on the device. Only if not empty().
  std::uint64_t end() const { return buffer_.end(); }
  std::uint64_t device_end() const { return buffer_.file_offset(); }
  // Bytes behind the extents that a Keep takes with room left for more; 0 without a buffer to be had.
  std::uint64_t comfortable_bytes() const;

  struct Content {
    std::uint64_t device_end = 0;           // the file's bytes from here on are in `tail`
    std::optional<SetExtents> uncommitted;  // extents in front of that, if there are uncommitted ones
    std::shared_ptr<const void> pins;       // of their zones
    std::uint64_t tail_offset = 0;          // <= device_end
    ByteView tail;                          // up to the end of the file
    std::uint64_t appended_seconds = 0;     // PlainFile::changed_seconds()
  };
  // Takes the whole file as it is. False: there is no buffer, or too little room; what was kept before stays then.
  [[nodiscard]] bool Keep(Content content);
  // Takes what was appended since: the file's end is `tail`, from `tail_offset` on. False if the file changed otherwise, too
  // (NoteChange), or if nothing is kept yet, or if there is no room. `appended_seconds` as above.
  [[nodiscard]] bool Extend(std::uint64_t tail_offset, ByteView tail, std::uint64_t appended_seconds);
  // The file's extents are others now, or bytes that may be kept here were overwritten.
  void NoteChange() { changed_ = true; }
  // The file ends at `size` now, device_end() <= size < end().
  void Cut(std::uint64_t size) {
    ZENFS_ASSERT(device_end() <= size && size < end());
    buffer_.Cut(size - buffer_.file_offset());
  }
  // All of it is committed, or not the file's any more. Gives the buffer back.
  void Clear();

 private:
  const std::shared_ptr<StagingArea> area_;
  const FileId owner_;
  StagedBuffer buffer_;
  std::shared_ptr<const void> pins_;
  std::uint64_t order_ = 0;
  bool changed_ = false;
};

}  // namespace zenfs
