// The content of an open plain file: its extents on the device and the bytes in its tail buffer.
//
//   0 ........... extents ........... E
//                        T .... tail buffer .... size()
//
// Invariants
//   the extents cover [0, E); the tail buffer, if not empty, covers [T, size()); T is a multiple of the block size
//   T <= E <= size(); bytes in both are equal; E < size() exactly if there are bytes to write
//   the published view and size are those here
//
// Checksums: an extent that is cut keeps a checksum if the tail buffer has the removed bytes, or if the caller knows it.
//
// Ownership: `published` outlives it.
// Threads: no lock; the lock of the file guards it, except `published`. No I/O.
// Units: bytes, file offsets. Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/crc32c.h"
#include "file/file_extents.h"

namespace zenfs {

// What readers see without the lock of the file.
struct PublishedContent {
  ViewSlots view;
  std::atomic<std::uint64_t> size = 0;
};

// The buffered bytes at the end of a file, in aligned memory that grows with the content. It maintains their CRC, so
// that each byte is summed once, before it is copied.
class TailBuffer {
 public:
  std::size_t size() const { return memory_.size(); }
  bool empty() const { return memory_.empty(); }
  ByteView View() const { return memory_.View(); }

  // The CRC of the whole content.
  std::uint32_t crc() const { return crc_; }
  // Returns the CRC of the first `count` bytes. Costs a sum over the bytes behind them.
  std::uint32_t CrcOfFront(std::size_t count) const;

  void Append(ByteView bytes) {
    Add(bytes);
    crc_ = Crc32c(bytes, crc_);
  }
  // `crc` is the CRC of `bytes`.
  void Append(ByteView bytes, std::uint32_t crc) {
    Add(bytes);
    crc_ = Crc32cWhole(crc_, crc, bytes.size());
  }
  // Replaces the bytes from `at` on; at + bytes.size() <= size(). `crc` is the CRC of `bytes`.
  void Overwrite(std::size_t at, ByteView bytes, std::uint32_t crc);
  // Shortens the content to `size` <= size().
  void Cut(std::size_t size);
  void DropFront(std::size_t count);
  // Returns the content with zeros appended up to a multiple of `unit`; valid until the next change.
  ByteView Padded(std::size_t unit);
  // Frees memory beyond the content.
  void Shrink();

 private:
  void Reserve(std::size_t capacity);
  void Add(ByteView bytes) {
    Reserve(size() + bytes.size());
    memory_.Append(bytes);
  }

  AlignedBuffer memory_;
  std::uint32_t crc_ = 0;
};

class PlainContent {
 public:
  // `extents` are the committed ones of a file of `size` bytes. `zones` outlives the object and all views.
  PlainContent(ZoneManager& zones, const Geometry& geometry, std::vector<Extent> extents, std::uint64_t size,
               PublishedContent& published)
      : block_(geometry.block_size),
        extents_(zones, geometry, std::move(extents), size, published.view),
        published_(published) {
    SetSize(size);
  }

  std::uint64_t size() const { return size_; }
  FileExtents& extents() { return extents_; }
  const FileExtents& extents() const { return extents_; }
  const TailBuffer& tail() const { return tail_; }
  // File offset of the tail buffer.
  std::uint64_t tail_offset() const { return size_ - tail_.size(); }
  // True if no bytes have to be written.
  bool written() const { return extents_.end() == size_; }
  // Rises with each change except appends to the tail buffer.
  std::uint64_t revision() const { return extents_.revision() + changes_; }
  // For assertions: true if the invariants hold.
  bool Sound() const;
  // Returns the length of the last block of `bytes` bytes, full or not. It stays in the buffer, because a direct writer
  // writes it again.
  std::size_t LastBlock(std::uint64_t bytes) const {
    return bytes == 0 ? 0 : bytes - RoundDown(bytes - 1, block_);
  }
  // Returns the checksum of the rest of the extent that a cut at `end` divides, without reads. Returns `front` if the
  // tail buffer does not contain the removed bytes.
  KnownCrc CrcWhenCut(std::uint64_t end, KnownCrc front) const;

  // --- tail buffer ---
  // Appends to the file. `crc`: that of `bytes`; unknown: calculated.
  void Append(ByteView bytes, KnownCrc crc);
  // Replaces the bytes from `offset` >= tail_offset() on, up to size() at most. `crc`: that of `bytes`.
  void Overwrite(std::uint64_t offset, ByteView bytes, std::uint32_t crc);
  // Puts the last bytes of the file, from a block boundary on, into the empty tail buffer.
  void LoadTail(ByteView bytes) { tail_.Append(bytes); }
  // Empties the tail buffer. Precondition: written().
  void DropTail();
  // Frees the memory that the tail buffer does not need.
  void ShrinkTail() { tail_.Shrink(); }
  // The tail buffer with zeros up to the end of a block; valid until the next change.
  ByteView PaddedTail() { return tail_.Padded(block_); }

  // --- device ---
  // `placed` has the first `bytes` of the tail buffer. The last `kept` of them stay in the buffer, too.
  void TakeWritten(std::vector<FileExtents::Placed> placed, std::size_t bytes, std::size_t kept);
  // `placed` has the whole tail buffer and `appended` more bytes, which are appended to the file.
  void TakeGathered(std::vector<FileExtents::Placed> placed, std::uint64_t appended);
  // Cuts the file at `size` <= size(). `front`: as for CrcWhenCut.
  void Cut(std::uint64_t size, KnownCrc front);

 private:
  void SetSize(std::uint64_t size);
  void CutExtents(std::uint64_t end, KnownCrc front = std::nullopt) {
    if (end < extents_.end()) extents_.Cut(end, CrcWhenCut(end, front));
  }

  const std::uint32_t block_;
  FileExtents extents_;
  TailBuffer tail_;
  std::uint64_t size_ = 0;
  std::uint64_t changes_ = 0;  // overwrites and cuts
  PublishedContent& published_;
};

}  // namespace zenfs
