#include "wal/zone_window.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "device/read_or_zeros.h"

namespace zenfs {

ZoneWindow::ZoneWindow(ZonedDevice& device, DeviceOffset start, std::uint64_t from, std::uint64_t end)
    : device_(device), start_(start), end_(end), begin_(from), ahead_(from) {
  if (end - std::min(from, end) > kFirstPieceBytes) queue_ = device.CreateQueue(kPieces);
  ReadAhead(pieces_.front());
  Collect(0);
}

ZoneWindow::~ZoneWindow() = default;

ByteView ZoneWindow::From(std::uint64_t at, std::uint64_t needed) {
  ZENFS_ASSERT(begin_ <= at && at <= end_);
  needed = std::min(RoundUp(needed, std::uint64_t{device_.geometry().block_size}), end_ - at);
  while (at + needed > window_end()) Extend(at);
  return buffer_.View(at - begin_, window_end() - at);
}

void ZoneWindow::Extend(std::uint64_t at) {
  Piece& piece = pieces_[oldest_];
  const bool goes_on = std::exchange(extended_, true);  // the caller has seen the first piece
  for (std::size_t i = 0; goes_on && i < kPieces; ++i) {
    Piece& next = pieces_[(oldest_ + i) % kPieces];
    if (!next.asked) ReadAhead(next);
  }
  while (!piece.read) Collect(1);
  ZENFS_ASSERT(at <= window_end());
  if (at == window_end()) {  // nearly always: frames seldom lie in two pieces
    std::swap(buffer_, piece.bytes);
    begin_ = piece.begin;
  } else {
    const ByteView rest = buffer_.View(at - begin_, window_end() - at);
    AlignedBuffer joined(rest.size() + piece.bytes.size());
    joined.Append(rest);
    joined.Append(piece.bytes.View());
    buffer_ = std::move(joined);
    begin_ = at;
  }
  piece.asked = false;
  if (goes_on) ReadAhead(piece);
  Collect(0);  // starts it
  oldest_ = (oldest_ + 1) % kPieces;
}

void ZoneWindow::ReadAhead(Piece& piece) {
  if (ahead_ >= end_) return;
  const std::uint64_t bytes = std::min(next_bytes_, end_ - ahead_);
  next_bytes_ = std::min(2 * next_bytes_, kPieceBytes);
  if (piece.bytes.capacity() < bytes) piece.bytes = AlignedBuffer(bytes);
  piece.bytes.Resize(bytes);
  piece.begin = std::exchange(ahead_, ahead_ + bytes);
  piece.request = {.kind = IoRequest::Kind::kRead,
                   .offset = start_ + piece.begin,
                   .read_into = piece.bytes.Span(),
                   .tag = &piece};
  piece.asked = true;
  piece.read = false;
  if (queue_ == nullptr) return End(piece, device_.Read(piece.request.offset, piece.request.read_into));
  queue_->Submit(&piece.request);
}

void ZoneWindow::Collect(std::size_t min_count) {
  if (queue_ == nullptr) return;
  done_.clear();
  queue_->Reap(min_count, done_);
  for (const IoRequest* request : done_) End(*static_cast<Piece*>(request->tag), request->status);
}

void ZoneWindow::End(Piece& piece, const Status& status) {
  if (!status.ok()) static_cast<void>(ReadBlocksOrZeros(device_, piece.request.offset, piece.bytes.Span()));
  piece.read = true;
}

}  // namespace zenfs
