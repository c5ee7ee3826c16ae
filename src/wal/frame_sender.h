// Sends the buffered bytes of one framed file to the device as frames. After an error, the next send
// repairs the frames first.
//
// A frame that failed may leave two things on the device. Some of its parts were placed; they are published
// like any other frame. One more part may have been written although the write reported an error. That part
// has the next sequence and begins where the map ends. The next frame has the same sequence and begins
// there too, so a mount may take either of them: the following frame fits both.
//
// A failed flush may lose the published frames behind the stable end. Each of them is written again
// unchanged: with its sequence and in one piece, because later frames have the next sequences. Its bytes
// come from the buffer in flight if they are still there, else from the device if the frame there is
// intact.
//
// Ownership: the device and the log outlive it.
// Threads: any, with the lock of the file held; the lock is released during I/O. The turn
// (framed_file_state.h) keeps others from changing the end of the file meanwhile.
#pragma once

#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "wal/framed_file_parts.h"
#include "wal/log_space.h"

namespace zenfs {

class FrameSender {
 public:
  // `log` null: the file is only read, and Send is not called.
  FrameSender(ZonedDevice& device, LogSpace* log, FileId id) : device_(device), log_(log), id_(id) {}

  // Takes the turn, makes the repairs of an earlier error, sends the buffered bytes (if any) as one frame,
  // publishes it and releases the turn. `sync`: the frame and all before it are on stable media afterwards.
  // Call this only while the turn is free. After an error the bytes stay buffered, and the state records
  // the repairs for the next send.
  // Errors: those of FrameWriter::Place and of a flush; kIo if a failed flush may have lost a frame; those
  // of reading such a frame. If memory runs out the process ends, because other threads wait for the turn.
  [[nodiscard]] Status Send(FramedFileParts& file, bool sync) noexcept REQUIRES(file.mutex);

 private:
  [[nodiscard]] Status SendFlight(FramedFileParts& file, bool sync) REQUIRES(file.mutex);
  [[nodiscard]] Status PlaceAnew(FramedFileParts& file) const REQUIRES(file.mutex);
  [[nodiscard]] Status PlaceAnew(FramedFileParts& file, const Piece& piece) const REQUIRES(file.mutex);
  [[nodiscard]] Status PromiseStable(FramedFileParts& file) const REQUIRES(file.mutex);

  ZonedDevice& device_;
  LogSpace* const log_;
  const FileId id_;
  std::vector<PlacedFrame>
      placed_;  // for the thread that has the turn; empty otherwise, but keeps its memory
};

}  // namespace zenfs
