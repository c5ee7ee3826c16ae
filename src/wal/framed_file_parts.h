// The parts of a framed file under its lock, which FramedFile and FrameSender share.
//
// Threads: `mutex` guards everything here. No I/O happens while it is held; only the locks of LogZones and
// of the zone manager come after it. `turn` is notified when a send, a truncation, a cleaning or a long append ends.
//
// Invariant, while `mutex` is free: `zones` has a pin on each zone that `map` points to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "wal/frame_buffers.h"
#include "wal/frame_map.h"
#include "wal/frame_writer.h"
#include "wal/framed_file_state.h"

namespace zenfs {

struct FramedFileParts {
  // `log` null: the file is only read.
  FramedFileParts(FrameMap initial_map, FrameBuffers initial_buffers, const Geometry& geometry,
                  ZoneManager& manager, LogZones* log, std::uint64_t initial_mtime_seconds)
      : map(std::move(initial_map)),
        zones(geometry, manager, log),
        buffers(std::move(initial_buffers)),
        mtime_seconds(initial_mtime_seconds) {}

  std::uint64_t Size() const REQUIRES(mutex) { return buffers.End(map.end()); }
  std::uint64_t StableEnd() const REQUIRES(mutex) { return std::max(map.stable_end(), sync_end); }
  // Adds a frame that is on the device. `before`: a mark from before it was written.
  void Publish(const PlacedFrame& frame, FlushMark before) REQUIRES(mutex) {
    zones.Add(frame.pin, {frame.device_bytes, frame.length});
    map.Publish(frame.ToPiece(), before);
  }
  // The same for the parts of the next frame, and leaves `parts` empty.
  void PublishNext(std::vector<PlacedFrame>& parts, const FrameJob& job, FlushMark before) REQUIRES(mutex) {
    for (const PlacedFrame& part : parts) Publish(part, before);
    if (!parts.empty()) map.NoteTime(job.time);
    parts.clear();
  }
  // The next frame behind the map, with the bytes in `buffer`.
  FrameJob NextFrame(FileId id, AlignedBuffer& buffer) const REQUIRES(mutex) {
    return {.owner = id.value,
            .sequence = map.next_sequence(),
            .file_offset = map.end(),
            .stable_sequence = map.stable_sequence(),
            .buffer = &buffer,
            .time = map.TimeOfNextFrame(mtime_seconds)};
  }
  // Call this after pieces of the map were removed or replaced.
  void RecountZones() REQUIRES(mutex) { zones.Recount(map.pieces()); }

  // True if each byte is on the device or kept in shared memory for the next mount.
  bool KeptForNextMount() const REQUIRES(mutex) { return !state.doubtful() && buffers.in_slots(); }

  mutable Mutex mutex{LockRank::kFramedFiles};
  CondVar turn;
  FrameMap map GUARDED_BY(mutex);
  FileZones zones GUARDED_BY(mutex);
  FrameBuffers buffers GUARDED_BY(mutex);
  FramedFileState state GUARDED_BY(mutex);
  // The bytes up to here are on stable media, those behind map.stable_end() in a sync block (block_sync.h).
  std::uint64_t sync_end GUARDED_BY(mutex) = 0;
  bool deleted GUARDED_BY(mutex) = false;         // the file has lost its last name
  std::uint64_t mtime_seconds GUARDED_BY(mutex);  // of the last append, truncation or creation; since 1970
};

}  // namespace zenfs
