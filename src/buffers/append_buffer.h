// Bytes appended to one file that are not on the device yet, after room for a frame header. They
// are in a slot of a BufferArea if one is free, otherwise in private memory.
//
// Invariants
//   Append publishes its bytes before it returns: after the bytes, one store writes length and CRC to the
//   control of the slot. If the process is killed at any instruction, exactly the bytes up to some Append remain.
//   Clear withdraws the published bytes before the memory is used for other bytes.
//
// Threads: one at a time. Another thread may read bytes below size() that were there when it last
// synchronised.
#pragma once

#include <cstdint>
#include <memory>

#include "base/aligned_buffer.h"
#include "buffers/buffer_area.h"

namespace zenfs {

class AppendBuffer {
 public:
  AppendBuffer() = default;
  AppendBuffer(AppendBuffer&& other) noexcept;
  AppendBuffer& operator=(AppendBuffer&& other) noexcept;
  // Bytes that are still published stay published for the next mount; the slot is not used again.
  ~AppendBuffer();

  // Prepares an empty buffer for bytes of `owner` from `file_offset` on. If it has no memory yet,
  // takes a free slot of `area`, or allocates `memory_bytes`. `area` may be null. Only while
  // empty().
  void Begin(const std::shared_ptr<BufferArea>& area, std::uint64_t memory_bytes, std::uint64_t owner,
             std::uint64_t file_offset);
  // The same for a plain file, in a tail slot, which BufferArea::Forget can empty. The bytes
  // follow `record` (EncodeTailRecord), which is published with the first Append. Returns false
  // if no slot is free or `record` is too long. Only on a new or released buffer.
  [[nodiscard]] bool BeginTail(const std::shared_ptr<BufferArea>& area, std::uint64_t owner,
                               std::uint64_t file_offset, ByteView record);
  // Appends as many of `bytes` as fit and returns their number. `seconds`: time of the append to
  // the file, since 1970.
  std::size_t Append(ByteView bytes, std::uint64_t seconds);
  // Keeps the first `length` bytes; 0 only if there is a record. A kill at any instruction leaves
  // all bytes or these.
  void Cut(std::uint64_t length);
  // Empties the buffer and keeps its memory.
  void Clear();
  // Empties the buffer and frees its memory.
  void Release();
  // Detaches the buffer from its tail slot. The bytes stay published until BufferArea::Forget,
  // which also releases `held`, or for the next mount.
  void GiveUp(std::shared_ptr<const void> held);

  bool empty() const { return buffer_.size() <= kBufferAreaPayloadAt; }
  std::uint64_t length() const { return empty() ? 0 : buffer_.size() - PayloadAt(); }
  std::size_t room() const { return buffer_.room(); }
  std::uint64_t file_offset() const { return file_offset_; }
  std::uint64_t end() const { return file_offset_ + length(); }
  ByteView payload() const { return buffer_.View(PayloadAt(), length()); }
  std::size_t capacity() const { return buffer_.capacity(); }
  // True if the buffered bytes survive the death of the process.
  bool survives_process() const { return in_slot() && !area_->retired(); }
  // True if the next mount finds the buffered bytes, also after the area was retired.
  bool in_slot() const { return slot_ != BufferArea::kNoSlot; }
  // Header room and payload, to pass to FrameWriter::Write.
  AlignedBuffer& whole() { return buffer_; }

 private:
  void Adopt(const std::shared_ptr<BufferArea>& area, std::uint32_t slot);
  void Start(std::uint64_t owner, std::uint64_t file_offset);
  std::uint64_t PayloadAt() const { return kBufferAreaPayloadAt + record_bytes_; }
  std::uint32_t Seed() const;
  void Publish();

  std::shared_ptr<BufferArea> area_;
  std::uint32_t slot_ = BufferArea::kNoSlot;
  AlignedBuffer buffer_;
  std::uint64_t file_offset_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::uint32_t crc_ = 0;  // of the published bytes
};

}  // namespace zenfs
