// How a framed file gets its bytes to the device, and how it goes on after an error.
//
// What may be left behind by a frame that failed: parts of it that were placed, which are published as any other frame,
// and a part that may have landed all the same. That part has the next sequence and begins where the index ends. The
// next frame has the same sequence and begins there too, so whichever of them a mount takes, the frame behind it fits.
//
// What a failed flush may have lost: frames behind stable_end_ that are published. The buffer, if it is theirs, or the
// device, if the frame there is still whole, gives each of them back, and it is written again as it was: with its sequence
// and in one piece, since the sequences behind it are taken.
#include <fmt/format.h>

#include <utility>

#include "format/frame_time.h"
#include "wal/frame_read.h"
#include "wal/framed_file.h"

namespace zenfs {

// Takes the turn, makes up for what an earlier error left behind, sends what is buffered (if anything) as a frame,
// publishes it, gives the turn on.
Status FramedFile::SendBuffer(bool sync) noexcept {
  state_.BeginSend();
  Status sent = state_.doubtful() ? PlaceAnew() : Status();
  if (sent.ok()) {
    if (flight_.empty()) std::swap(active_, flight_);
    sent = SendFlight(sync);
  }
  state_.EndSend(sent);
  turn_.NotifyAll();
  return sent;
}

Status FramedFile::SendFlight(bool sync) {
  const bool has_frame = !flight_.empty();
  const std::uint16_t time = TimeToSend();
  const FrameJob job{.owner = id_.value,
                     .sequence = next_sequence_,
                     .file_offset = flight_.file_offset(),
                     .stable_sequence = stable_sequence_,
                     .buffer = &flight_.whole(),
                     .flush = sync,
                     .placed_before = has_frame ? index_.end() - flight_.file_offset() : 0,
                     .time = time};
  unstable_since_ = UnstableSince();
  mutex_.Unlock();  // the caller holds it again when this returns
  std::vector<PlacedFrame> placed;
  Status sent;
  if (has_frame) {
    sent = deps_.log->writer().Place(job, placed);
  } else if (sync && deps_.device->geometry().volatile_cache) {
    sent = deps_.device->Flush();
  }
  mutex_.Lock();
  for (const PlacedFrame& frame : placed) Publish(frame);
  if (!placed.empty()) NoteSent(time);
  if (!sent.ok()) {
    if (has_frame && index_.end() != flight_.end()) {
      state_.FrameFailed();
    } else {
      state_.FlushFailed();  // all of it is placed
    }
    return sent;
  }
  if (sync || !deps_.device->geometry().volatile_cache) ZENFS_RETURN_IF_ERROR(PromiseStable());
  flight_.Clear();
  return {};
}

FlushMark FramedFile::UnstableSince() const {
  return index_.end() == stable_end_ ? FlushMark::Now(*deps_.device) : unstable_since_;
}

// A flush behind the last frame has succeeded.
Status FramedFile::PromiseStable() {
  if (MayHaveLost()) {
    state_.FlushFailed();
    return Fail(Code::kIo, fmt::format("file {}: bytes {} to {}: {}", id_.value, stable_end_, index_.end(),
                                       kLostToAFlush));
  }
  stable_sequence_ = next_sequence_ - 1;
  stable_end_ = index_.end();
  return {};
}

// What a truncation or cleaning has committed meanwhile stands behind a flush of its own.
Status FramedFile::PlaceAnew() {
  while (state_.cleaning()) turn_.Wait(mutex_);
  const FlushMark mark = FlushMark::Now(*deps_.device);
  Status status;
  for (std::uint64_t at = stable_end_; at < index_.end() && status.ok();) {
    const Piece piece = index_[index_.Find(at)];
    at = piece.end();
    if (piece.sequence >= open_first_sequence_) status = PlaceAnew(piece);
  }
  RecountZones();  // also of what was replaced before an error
  if (!status.ok()) return status;
  unstable_since_ = mark;
  state_.PlacedAnew();
  if (flight_.end() <= index_.end()) flight_.Clear();
  return {};
}

Status FramedFile::PlaceAnew(const Piece& piece) {
  AlignedBuffer buffer(piece.frame_bytes);
  const bool buffered = !flight_.empty() && piece.file_offset >= flight_.file_offset();
  if (buffered) {
    buffer.Resize(kFrameHeaderBytes);
    buffer.Append(flight_.payload().subspan(piece.file_offset - flight_.file_offset(), piece.length));
  }
  const FrameJob job{.owner = id_.value,
                     .sequence = piece.sequence,
                     .file_offset = piece.file_offset,
                     .stable_sequence = stable_sequence_,
                     .buffer = &buffer,
                     .time = TimeToSend(),
                     .unsplit = true};
  mutex_.Unlock();
  std::vector<PlacedFrame> placed;
  Status done = buffered ? Status() : ReadFrame(*deps_.device, deps_.log->zones(), id_.value, piece, buffer);
  if (done.ok()) done = deps_.log->writer().Place(job, placed);
  mutex_.Lock();
  if (!done.ok()) {
    return Fail(done.error().With(fmt::format("file {}: bytes {} to {}, which a flush may have lost",
                                              id_.value, piece.file_offset, piece.end())));
  }
  Publish(placed.front());
  return {};
}

std::uint16_t FramedFile::TimeToSend() const { return EncodeFrameTime(mtime_seconds_, sent_seconds_); }

// As a reader will: the next time is told as a distance from it.
void FramedFile::NoteSent(std::uint16_t time) {
  sent_seconds_ = DecodeFrameTime(time, sent_seconds_).value_or(sent_seconds_);
}

// A frame behind the last one, or one in place of one with its sequence.
void FramedFile::Publish(const PlacedFrame& frame) {
  zones_.Add(frame);
  if (frame.sequence < next_sequence_) {
    index_.Replace(index_.Find(frame.file_offset), frame.ToPiece());
  } else {
    index_.Append(frame.ToPiece());
    next_sequence_ = frame.sequence + 1;
  }
}

}  // namespace zenfs
