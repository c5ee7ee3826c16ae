#include "wal/frame_sender.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "wal/frame_read.h"

namespace zenfs {

Status FrameSender::Send(FramedFileParts& file, bool sync) noexcept {
  file.state.BeginSend();
  Status sent = file.state.doubtful() ? PlaceAnew(file) : Status();
  if (sent.ok()) {
    file.buffers.StartFlight();
    sent = SendFlight(file, sync);
  }
  file.state.EndSend(sent);
  file.turn.NotifyAll();
  return sent;
}

Status FrameSender::SendFlight(FramedFileParts& file, bool sync) {
  AppendBuffer& flight = file.buffers.flight();
  const bool has_frame = !flight.empty();
  Status sent;
  do {  // again for the rest of a frame that waits for a zone
    FrameJob job = file.NextFrame(id_, flight.whole());
    job.file_offset = flight.file_offset();
    job.flush = sync;
    job.placed_before = has_frame ? file.map.end() - flight.file_offset() : 0;
    const FlushMark before = FlushMark::Now(device_);
    file.mutex.Unlock();  // the caller holds it again when this returns
    if (has_frame) {
      sent = log_->writer().Place(job, placed_);
    } else if (sync && device_.geometry().volatile_cache) {
      sent = FlushLogs(device_);
    }
    file.mutex.Lock();
    file.PublishNext(placed_, job, before);
  } while (sent.ok() && has_frame && file.map.end() != flight.end());
  if (!sent.ok()) {
    if (has_frame && file.map.end() != flight.end()) {
      file.state.FrameFailed();
    } else {
      file.state.FlushFailed();  // the whole frame is placed
    }
    return sent;
  }
  if (sync || !device_.geometry().volatile_cache) ZENFS_RETURN_IF_ERROR(PromiseStable(file));
  file.buffers.EndFlight();
  return {};
}

// Call this after a successful flush behind the last frame.
Status FrameSender::PromiseStable(FramedFileParts& file) const {
  if (file.map.UnstableSince(FlushMark::Now(device_)).FlushFailedSince(device_)) {
    file.state.FlushFailed();
    return Fail(Code::kIo, fmt::format("file {}: bytes {} to {}: {}", id_.value, file.map.stable_end(),
                                       file.map.end(), kLostToAFlush));
  }
  file.map.PromiseStable();
  return {};
}

// Writes the frames again that a failed flush may have lost. Frames that a cleaning moves meanwhile need no
// repair, because its commit flushes the copies.
Status FrameSender::PlaceAnew(FramedFileParts& file) const {
  while (file.state.cleaning()) file.turn.Wait(file.mutex);
  const FlushMark before = FlushMark::Now(device_);
  Status status;
  for (std::optional<Piece> piece = file.map.FindUnstable(0); piece && status.ok();
       piece = file.map.FindUnstable(piece->end())) {
    status = PlaceAnew(file, *piece);
  }
  file.RecountZones();  // after an error too: some frames may have been replaced
  if (!status.ok()) return status;
  file.map.NoteWrittenAgain(before);
  file.state.PlacedAnew();
  if (file.buffers.flight().end() <= file.map.end()) file.buffers.EndFlight();
  return {};
}

Status FrameSender::PlaceAnew(FramedFileParts& file, const Piece& piece) const {
  AlignedBuffer buffer(piece.frame_bytes);
  const AppendBuffer& flight = file.buffers.flight();
  const bool buffered = !flight.empty() && piece.file_offset >= flight.file_offset();
  if (buffered) {
    buffer.Resize(kFrameHeaderBytes);
    buffer.Append(flight.payload().subspan(piece.file_offset - flight.file_offset(), piece.length));
  }
  const FrameJob job{.owner = id_.value,
                     .sequence = piece.sequence,
                     .file_offset = piece.file_offset,
                     .stable_sequence = file.map.stable_sequence(),
                     .buffer = &buffer,
                     .time = file.map.TimeOfNextFrame(file.mtime_seconds),
                     .unsplit = true};
  const FlushMark before = FlushMark::Now(device_);
  file.mutex.Unlock();
  std::vector<PlacedFrame> placed;
  Status done = buffered ? Status()
                         : ReadFrame(device_, *log_->zones().SeedOf(device_.geometry().ZoneOf(piece.place)),
                                     id_, piece, buffer);
  if (done.ok()) done = log_->writer().Place(job, placed);
  file.mutex.Lock();
  if (!done.ok()) {
    return Fail(done.error().With(fmt::format("file {}: bytes {} to {}, which a flush may have lost",
                                              id_.value, piece.file_offset, piece.end())));
  }
  file.Publish(placed.front(), before);
  return {};
}

}  // namespace zenfs
