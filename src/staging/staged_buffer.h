// Bytes appended to one file that are not on the device yet, behind room for a frame header. In a slot of a StagingArea
// if one is free, else in memory of its own.
//
// Invariants
//   what Append has taken is published before it returns: length and CRC go into the slot's control with one store
//   behind the bytes, so a process that is killed at any instruction leaves the bytes up to some Append, exactly
//   Clear takes back what was published before the memory is used for other bytes
//
// Threads: one at a time; another may read bytes below size() that were there when it last synchronised.
#pragma once

#include <cstdint>
#include <memory>

#include "base/aligned_buffer.h"
#include "staging/staging_area.h"

namespace zenfs {

class StagedBuffer {
 public:
  StagedBuffer() = default;
  StagedBuffer(StagedBuffer&& other) noexcept;
  StagedBuffer& operator=(StagedBuffer&& other) noexcept;
  // What is still published stays so, for the next mount to find: the slot is not used again.
  ~StagedBuffer();

  // Makes an empty buffer ready for bytes of `owner` from `file_offset` on; takes memory, or a slot that has become
  // free, if there is none. `area` may be null. Only while empty().
  void Begin(const std::shared_ptr<StagingArea>& area, std::uint64_t memory_bytes, std::uint64_t owner,
             std::uint64_t file_offset);
  // The same for a plain file, in a slot that StagingArea::Forget knows of and behind `record` (format/tail_record.h), which
  // is published with the first Append. False if no slot is free, or `record` is too long. Only on a new or released buffer.
  [[nodiscard]] bool BeginTail(const std::shared_ptr<StagingArea>& area, std::uint64_t owner,
                               std::uint64_t file_offset, ByteView record);
  // As much of `bytes` as there is room for; returns how much that was. `seconds`: when they were appended to the file, since
  // 1970.
  std::size_t Append(ByteView bytes, std::uint64_t seconds);
  // Keeps the first `length` bytes, not 0 unless there is a record. A kill at any instruction leaves all or these.
  void Cut(std::uint64_t length);
  // Empties it. The memory stays.
  void Clear();
  // Empties it and gives the memory back.
  void Release();
  // Lets go of a slot of BeginTail. What is in it stays published until StagingArea::Forget, which lets go of `held`, or
  // for the next mount.
  void GiveUp(std::shared_ptr<const void> held);

  bool empty() const { return buffer_.size() <= kStagingPayloadAt; }
  std::uint64_t length() const { return empty() ? 0 : buffer_.size() - PayloadAt(); }
  std::size_t room() const { return buffer_.room(); }
  std::uint64_t file_offset() const { return file_offset_; }
  std::uint64_t end() const { return file_offset_ + length(); }
  ByteView payload() const { return buffer_.View(PayloadAt(), length()); }
  std::size_t capacity() const { return buffer_.capacity(); }
  // Whether what is in here outlives the process.
  bool survives_process() const { return slot_ != StagingArea::kNoSlot && !area_->retired(); }
  // Header room and payload, for FrameWriter::Write.
  AlignedBuffer& whole() { return buffer_; }

 private:
  void Adopt(const std::shared_ptr<StagingArea>& area, std::uint32_t slot);
  void TakeMemory(const std::shared_ptr<StagingArea>& area, std::uint64_t memory_bytes);
  void Start(std::uint64_t owner, std::uint64_t file_offset);
  std::uint64_t PayloadAt() const { return kStagingPayloadAt + record_bytes_; }
  ByteView Published() const { return buffer_.View(kStagingPayloadAt, buffer_.size() - kStagingPayloadAt); }
  std::uint32_t Seed() const;
  void Publish();

  std::shared_ptr<StagingArea> area_;
  std::uint32_t slot_ = StagingArea::kNoSlot;
  AlignedBuffer buffer_;
  std::uint64_t file_offset_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::uint32_t crc_ = 0;  // of what is published
};

}  // namespace zenfs
