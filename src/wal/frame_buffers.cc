#include "wal/frame_buffers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace zenfs {
namespace {

void CopyBuffered(const AppendBuffer& buffer, std::uint64_t offset, ByteSpan into) {
  if (buffer.empty()) return;
  const std::uint64_t from = std::max(offset, buffer.file_offset());
  const std::uint64_t to = std::min(offset + into.size(), buffer.end());
  if (from >= to) return;
  std::memcpy(into.data() + (from - offset), buffer.payload().data() + (from - buffer.file_offset()),
              to - from);
}

bool Survives(const AppendBuffer& buffer) { return buffer.empty() || buffer.survives_process(); }

}  // namespace

bool FrameBuffers::IsConsistent(std::uint64_t map_end) const {
  if (flight_.empty()) return active_.empty() || active_.file_offset() == map_end;
  return flight_.file_offset() <= map_end && map_end <= flight_.end() &&
         (active_.empty() || active_.file_offset() == flight_.end());
}

std::uint64_t FrameBuffers::End(std::uint64_t map_end) const {
  if (!active_.empty()) return active_.end();
  if (!flight_.empty()) return flight_.end();
  return map_end;
}

bool FrameBuffers::survive_process() const { return Survives(active_) && Survives(flight_); }

bool FrameBuffers::in_slots() const {
  return (active_.empty() || active_.in_slot()) && (flight_.empty() || flight_.in_slot());
}

void FrameBuffers::Begin(std::uint64_t map_end) {
  ZENFS_ASSERT(active_.empty() && IsConsistent(map_end));
  const bool behind_a_gap = !Survives(flight_);
  if (behind_a_gap) active_.Release();
  active_.Begin(behind_a_gap ? nullptr : area_, buffer_bytes_, owner_.value, End(map_end));
  active_since_ = RoughSteadyNow();
  drain_requested_ = false;
  ZENFS_ASSERT(active_.file_offset() == End(map_end));
}

bool FrameBuffers::TakeDrainRequest() {
  if (drain_requested_ || active_.length() < std::min<std::uint64_t>(active_.capacity() / 2, kDrainAt))
    return false;
  drain_requested_ = true;
  return true;
}

void FrameBuffers::StartFlight() {
  if (flight_.empty()) std::swap(active_, flight_);
}

void FrameBuffers::Placed(std::uint64_t map_end) {
  if (!flight_.empty() && flight_.end() <= map_end) EndFlight();
  if (active_.empty() || active_.file_offset() >= map_end) return;
  StartFlight();
  if (flight_.end() <= map_end) EndFlight();
  ZENFS_ASSERT(IsConsistent(map_end));
}

std::uint64_t FrameBuffers::CopyTo(std::uint64_t offset, ByteSpan into, std::uint64_t map_end) const {
  ZENFS_ASSERT(IsConsistent(map_end));
  CopyBuffered(flight_, offset, into);
  CopyBuffered(active_, offset, into);
  return flight_.empty() ? map_end : flight_.file_offset();
}

void FrameBuffers::Clear() {
  active_.Clear();
  flight_.Clear();
}

void FrameBuffers::ReleaseMemory() {
  ZENFS_ASSERT(active_.empty());
  active_.Release();
  if (flight_.empty()) flight_.Release();
}

}  // namespace zenfs
