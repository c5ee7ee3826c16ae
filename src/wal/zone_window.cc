#include "wal/zone_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace zenfs {

ZoneWindow::ZoneWindow(ZonedDevice& device, DeviceOffset start, std::uint64_t from, std::uint64_t end)
    : device_(device), start_(start), end_(end), begin_(from), ahead_(from) {
  if (end - std::min(from, end) > kPieceBytes) queue_ = device.CreateQueue(kPieces);
  for (Piece& piece : pieces_) ReadAhead(piece);
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
  ReadAhead(piece);
  Collect(0);  // starts it
  oldest_ = (oldest_ + 1) % kPieces;
}

void ZoneWindow::ReadAhead(Piece& piece) {
  if (ahead_ >= end_) return;
  const std::uint64_t bytes = std::min(kPieceBytes, end_ - ahead_);
  if (piece.bytes.capacity() < bytes) piece.bytes = AlignedBuffer(bytes);
  piece.bytes.Resize(bytes);
  piece.begin = std::exchange(ahead_, ahead_ + bytes);
  piece.request = {.kind = IoRequest::Kind::kRead,
                   .offset = start_ + piece.begin,
                   .read_into = piece.bytes.Span(),
                   .tag = &piece};
  piece.read = queue_ == nullptr;
  if (queue_ == nullptr) {
    if (!device_.Read(piece.request.offset, piece.bytes.Span()).ok()) ReadBlockwise(piece);
    return;
  }
  queue_->Submit(&piece.request);
}

void ZoneWindow::Collect(std::size_t min_count) {
  if (queue_ == nullptr) return;
  done_.clear();
  queue_->Reap(min_count, done_);
  for (const IoRequest* request : done_) {
    Piece& piece = *static_cast<Piece*>(request->tag);
    if (!request->status.ok()) ReadBlockwise(piece);
    piece.read = true;
  }
}

// An unreadable block is an invalid frame, not the end of the log.
void ZoneWindow::ReadBlockwise(Piece& piece) {
  const std::uint32_t block = device_.geometry().block_size;
  for (std::uint64_t at = 0; at < piece.bytes.size(); at += block) {
    const ByteSpan one = piece.bytes.Span().subspan(at, block);
    if (!device_.Read(start_ + piece.begin + at, one).ok()) std::memset(one.data(), 0, one.size());
  }
}

}  // namespace zenfs
