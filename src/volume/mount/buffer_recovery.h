// Takes over the orphaned buffers of a mount whose process died: flushed bytes that the device lacks. They go into the buffers
// of this mount as they are, so a mount needs no room on the device. The device gets them at the end of the mount, if it
// has room, and otherwise later (wal/log_drain.h).
//
//   Open -> CommitExtents -> [zones accounted, logs replayed] -> TakeOver
//        -> [one commit: seals, new epoch, place of the new buffers] -> [files opened with BytesOf] -> Remove
//
// If the process is killed before that commit, the next mount finds the old buffers again. If it is killed after the commit, the
// next mount finds the new buffers.
//
// A piece that gets no slot of the new buffers is taken over in private memory. Then the metadata log names the old buffers
// until the device has these bytes (needs_old_buffers), and the mount fails if it has no room for them.
//
// Ownership: keeps a copy of the old buffers until Remove.
// Threads: the mounting thread only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "buffers/orphaned_buffers.h"
#include "metalog/metalog.h"
#include "open/append_buffers.h"
#include "volume/fsck/places.h"
#include "volume/mount/log_recovery.h"
#include "volume/mount/mounted_device.h"
#include "wal/frame_buffers.h"

namespace zenfs {

class BufferRecovery {
 public:
  // Opens the buffers that `state` names. Adds a notice to `device` for lost bytes; `device` outlives the result. Errors:
  // those of OpenOrphanedBuffers, unless the option discard_unsynced is set.
  [[nodiscard]] static Result<BufferRecovery> Open(MountedDevice& device, const State& state);

  // The buffers that TakeOver needs: as many, and as large, as hold bytes now. 0 if none do.
  AppendBuffers::Shape shape() const;

  // Commits extents that the dead process wrote and named only in its buffers. Returns the state with them, or nothing if
  // there are none. Errors: kCorruption if they contradict `state`; those of Metalog::Commit.
  [[nodiscard]] Result<std::optional<State>> CommitExtents(Metalog& metalog, const State& state,
                                                           const KnownZones& zones) const;
  // Plain files that lack bytes. After they are taken over, one commit makes the file framed, because a mount opens all
  // framed files, and the log has room when data has none. An earlier version of ZenFS that was killed before that commit may
  // have written some bytes as frames.
  std::set<FileId> PlainFiles(const State& state) const;
  // Copies the bytes that the device lacks into `present`, or into private memory. Adds a notice for bytes behind a gap.
  // Errors: kCorruption if a file has more buffers than any mount makes.
  [[nodiscard]] Status TakeOver(const State& state, const RecoveredLogs& logs, const AppendBuffers& present);
  // The files for which TakeOver found bytes, also after BytesOf.
  std::set<FileId> TakenOver() const;
  // The bytes of `file` that were taken over. Call this once for each file.
  FrameBuffers::TakenOver BytesOf(FileId file);
  // The file of the old buffers; empty if there is none.
  const std::string& path() const { return left_.memory.path(); }
  // True if some bytes are in private memory.
  bool needs_old_buffers() const { return needs_old_buffers_; }
  // For an error while the device must get the bytes in private memory.
  Error NoRoom(const Error& cause) const;
  // Call this once the metadata log names other buffers or none. Removes the old buffers, and unfinished ones in the
  // directory of `present`.
  void Remove(const AppendBuffers& present);

 private:
  explicit BufferRecovery(MountedDevice& device) : device_(&device) {}
  // For extents that can't be committed.
  Error Unusable(const Error& error) const;
  [[nodiscard]] Status TakeOverPiece(const OrphanedBytes& piece, std::uint64_t have,
                                     const AppendBuffers& present);

  MountedDevice* device_;
  OrphanedBuffers left_;
  std::vector<std::uint32_t> owners_;  // users whose append buffers are trusted, see WhoseBuffers
  std::map<FileId, FrameBuffers::TakenOver> taken_over_;
  bool needs_old_buffers_ = false;
};

}  // namespace zenfs
