// The append buffers that the last mount left because its process died. What was flushed into them and is not on the device
// goes there before the logs are sealed.
//
//   Open -> CommitExtents -> [zones accounted, logs replayed, resets may start] -> Replay
//        -> [one commit: seals, new epoch, place of the new buffers] -> Remove
//
// Killed before that commit, the next mount finds the old buffers again and replays what is still missing; killed behind
// it, it finds the new ones.
//
// Ownership: keeps the memory mapped until Remove.
// Threads: the mounting one.
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
  // Finds what the metadata log, replayed to `state`, names. Whatever was lost is a notice of `device`, which outlives the
  // result. Errors: those of OpenOrphanedBuffers, unless the option discard_unsynced gives the bytes up.
  [[nodiscard]] static Result<BufferRecovery> Open(MountedDevice& device, const State& state);

  bool empty() const { return left_.pieces.empty(); }

  // The dead process had written some extents and named them in its buffers only. Commits these; returns the state with
  // them, or nothing if there are none. Errors: kCorruption if they contradict `state`; those of Metalog::Commit.
  [[nodiscard]] Result<std::optional<State>> CommitExtents(Metalog& metalog, const State& state,
                                                           const KnownZones& zones) const;
  // Plain files that lack bytes. These are written as frames, like those of logs: the log has room when data has none, and
  // one commit makes them part of the file, which is framed from then on. A mount that was killed before that commit may
  // have written some already.
  std::set<FileId> PlainFiles(const State& state) const;
  // Writes what the device lacks as frames of the dead mount's epoch, and adds them to `logs`. `pins` keep their zones until
  // the files count them as live. Errors: those of LogSpace::Write.
  [[nodiscard]] Status Replay(const State& state, LogSpace& log, RecoveredLogs& logs,
                              std::vector<ZonePin>& pins);
  // All of it is durable: removes the old buffers, and unfinished ones beside `present`.
  void Remove(const AppendBuffers& present);

 private:
  explicit BufferRecovery(MountedDevice& device) : device_(&device) {}
  [[nodiscard]] Status ReplayPiece(const State& state, const OrphanedBytes& piece, LogSpace& log,
                                   ReplayedLog& replayed, std::vector<ZonePin>& pins);

  MountedDevice* device_;
  OrphanedBuffers left_;
  std::vector<std::uint32_t> owners_;  // users whose append buffers count, see WhoseBuffers
};

}  // namespace zenfs
