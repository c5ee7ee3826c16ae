// Replays the orphaned buffers of a mount whose process died: writes flushed bytes that the device lacks, before the logs
// are sealed.
//
//   Open -> CommitExtents -> [zones accounted, logs replayed, resets may start] -> Replay
//        -> [one commit: seals, new epoch, place of the new buffers] -> Remove
//
// If the process is killed before that commit, the next mount finds the old buffers again and replays the missing bytes. If
// it is killed after the commit, the next mount finds the new buffers.
//
// Ownership: keeps the memory mapped until Remove.
// Threads: the mounting thread only.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "buffers/orphaned_buffers.h"
#include "metalog/metalog.h"
#include "volume/append_buffers.h"
#include "volume/log_recovery.h"
#include "volume/mounted_device.h"
#include "volume/places.h"
#include "wal/log_space.h"

namespace zenfs {

class BufferRecovery {
 public:
  // Opens the buffers that `state` names. Adds a notice to `device` for lost bytes; `device` outlives the result. Errors:
  // those of OpenOrphanedBuffers, unless the option discard_unsynced is set.
  [[nodiscard]] static Result<BufferRecovery> Open(MountedDevice& device, const State& state);

  bool empty() const { return left_.pieces.empty(); }

  // Commits extents that the dead process wrote and named only in its buffers. Returns the state with them, or nothing if
  // there are none. Errors: kCorruption if they contradict `state`; those of Metalog::Commit.
  [[nodiscard]] Result<std::optional<State>> CommitExtents(Metalog& metalog, const State& state,
                                                           const KnownZones& zones) const;
  // Plain files that lack bytes. Replay writes these bytes as frames, because the log has room when data has none. One
  // commit makes them part of the file, which is framed from then on. A mount that was killed before that commit may have
  // written some of the frames.
  std::set<FileId> PlainFiles(const State& state) const;
  // Writes the bytes that the device lacks as frames of the dead mount's epoch, and adds them to `logs`. `pins` keeps their
  // zones until the files count the frames as live. Errors: those of LogSpace::Write.
  [[nodiscard]] Status Replay(const State& state, LogSpace& log, RecoveredLogs& logs,
                              std::vector<ZonePin>& pins);
  // Call this once all replayed bytes are durable. Removes the old buffers, and unfinished ones in the directory of
  // `present`.
  void Remove(const AppendBuffers& present);

 private:
  explicit BufferRecovery(MountedDevice& device) : device_(&device) {}
  [[nodiscard]] Status ReplayPiece(const State& state, const OrphanedBytes& piece, LogSpace& log,
                                   ReplayedLog& replayed, std::vector<ZonePin>& pins);

  MountedDevice* device_;
  OrphanedBuffers left_;
  std::vector<std::uint32_t> owners_;  // users whose append buffers are trusted, see WhoseBuffers
};

}  // namespace zenfs
