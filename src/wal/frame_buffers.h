// The appended bytes of a framed file that are not on the device yet, in two buffers: one is sent as a
// frame (in flight) while the other takes new bytes (active).
//
//   ... frames | in flight | active | End()
//              ^ the end of the map, unless the front of the buffer in flight is in the map already
//
// Bytes leave the buffer in flight only when all of them are in the map (EndFlight). After an error they
// stay there, and the next send repeats them.
//
// Invariants
//   the active bytes begin at the end of those in flight, or at the end of the map if nothing is in flight
//   the map ends inside the bytes in flight, or at their start or end
//   if the bytes in flight do not survive the process, the active ones do not either: the next mount would
//   find them behind a gap, which looks like damage
//
// Ownership: owns both buffers. Their memory is a slot of the shared write buffers if one is free.
// Threads: no lock; the lock of FramedFile guards it. FrameWriter reads the buffer in
// flight without the lock; its bytes do not change until EndFlight.
// Units: bytes, file offsets. Errors: none; without a free slot the bytes are in private memory.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/clock.h"
#include "buffers/append_buffer.h"
#include "model/units.h"

namespace zenfs {

class FrameBuffers {
 public:
  static constexpr std::uint64_t kDrainAt = 512 << 10;

  // Bytes of a dead process that this mount has taken over, in at most two buffers. Those in `second` follow those in
  // `first`. If only one has bytes, it is `second`.
  struct TakenOver {
    AppendBuffer first;
    AppendBuffer second;
    std::uint64_t appended_seconds = 0;  // of the last append, since 1970; 0: unknown
  };

  // `area` null: no bytes survive the process. `buffer_bytes`: size of a buffer in private memory. `first`, `second`: as in
  // TakenOver; they begin at the end of the map.
  FrameBuffers(std::shared_ptr<BufferArea> area, std::uint64_t buffer_bytes, FileId owner,
               AppendBuffer first = {}, AppendBuffer second = {})
      : area_(std::move(area)),
        buffer_bytes_(buffer_bytes),
        owner_(owner),
        active_(std::move(second)),
        flight_(std::move(first)) {}

  const AppendBuffer& active() const { return active_; }
  AppendBuffer& flight() { return flight_; }
  bool empty() const { return active_.empty() && flight_.empty(); }
  // The size of a file whose map ends at `map_end`.
  std::uint64_t End(std::uint64_t map_end) const;
  // True if all bytes here survive the death of the process.
  bool survive_process() const;
  // True if the next mount finds all bytes here, also after the shared buffers were retired.
  bool in_slots() const;

  // --- active ---
  // Prepares the empty active buffer for bytes behind End(map_end). Call this before Append.
  void Begin(std::uint64_t map_end);
  // Appends as many of `bytes` as fit and returns their number. `mtime_seconds`: time of the append, since
  // 1970.
  std::size_t Append(ByteView bytes, std::uint64_t mtime_seconds) {
    return active_.Append(bytes, mtime_seconds);
  }
  // When the first byte of the active buffer came.
  SteadyTime active_since() const { return active_since_; }
  // True once for each active buffer, when it is half full or has kDrainAt: the drain should send it. The
  // rest of a large buffer is room for appends while the device is slow.
  bool TakeDrainRequest();

  // --- in flight ---
  // Puts the active bytes in flight, if nothing is in flight.
  void StartFlight();
  // All bytes in flight are in the map.
  void EndFlight() { flight_.Clear(); }
  // A frame with bytes of both buffers is in the map, which ends at `map_end`.
  void Placed(std::uint64_t map_end);

  // `into` has the bytes of the file from `offset` on: copies those that are in a buffer. Returns the file
  // offset of the first byte in a buffer. A reader takes the bytes before it from the map, which ends at
  // `map_end`.
  std::uint64_t CopyTo(std::uint64_t offset, ByteSpan into, std::uint64_t map_end) const;
  // Discards the bytes of both buffers.
  void Clear();
  // Frees the memory of the active buffer, and of the other one if it is empty. Only while the active
  // buffer is empty.
  void ReleaseMemory();

 private:
  // The first two invariants above.
  bool IsConsistent(std::uint64_t map_end) const;

  const std::shared_ptr<BufferArea> area_;
  const std::uint64_t buffer_bytes_;
  const FileId owner_;
  AppendBuffer active_;
  SteadyTime active_since_;
  bool drain_requested_ = false;
  AppendBuffer flight_;
};

}  // namespace zenfs
