// A file of the volume as the source of a backup: how its content is identified, and how it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "volume/volume.h"

namespace zenfs {

// Identifies the content of a file without reading it.
struct ContentMark {
  // Checksum of the whole file, if the metadata has checksums of all its bytes. Then it decides
  // alone.
  KnownCrc sum;
  // A hash of the places of the bytes and the number of the last frame; never 0. It differs after
  // each change of a log, because frame numbers are not used twice. It differs after each change of
  // a plain file, unless zones were reset in between and written in the same way. Reclaim may
  // change it without a change of the file, because it moves bytes.
  std::uint64_t layout = 0;

  // `size`: the size of the file to compare, in bytes.
  static ContentMark Of(const FileLayout& layout, std::uint64_t size);
};

[[nodiscard]] inline std::uint64_t EndOfExtents(const FileLayout& layout) {
  return layout.extents.empty() ? 0 : layout.extents.back().end();
}

// Reads a file of a volume from start to end and compares all of it with the checksums that the volume has: each extent when
// its last byte is read, each frame when it is read.
//
// Threads: Read is called by one thread at a time; the other functions after the last Read.
class VerifiedSource {
 public:
  // `file` and `geometry` outlive it. `layout`: from before `file` was opened. `path` is for errors.
  VerifiedSource(const FileHandle& file, FileLayout layout, const Geometry& geometry, std::string path)
      : file_(file), layout_(std::move(layout)), geometry_(geometry), path_(std::move(path)) {}

  // As FileHandle::Read. Errors: also kCorruption if an extent or a frame does not match its checksum.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into);
  // The error of the last Read; empty if it was successful.
  const std::optional<Error>& failure() const { return failure_; }
  // True if the file's extents are not those of `layout` any more, so that a mismatch may come from a change.
  [[nodiscard]] bool ExtentsDiffer(const FileLayout& now) const { return now.extents != layout_.extents; }
  // True if some of the first `size` bytes are in extents that `layout` did not have. They may have been read without a
  // comparison.
  [[nodiscard]] bool Misses(const FileLayout& now, std::uint64_t size) const;

 private:
  [[nodiscard]] Status Compare(ByteView bytes);

  const FileHandle& file_;
  const FileLayout layout_;
  const Geometry& geometry_;
  const std::string path_;
  std::size_t extent_ = 0;    // the present one
  std::uint64_t offset_ = 0;  // of the next byte
  std::uint32_t sum_ = 0;     // of the bytes of the present extent so far
  std::optional<Error> failure_;
};

}  // namespace zenfs
