#include "wal/zone_window.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "device/read_or_zeros.h"

namespace zenfs {

ZoneWindow::ZoneWindow(ZonedDevice& device, DeviceOffset start, std::uint64_t from, std::uint64_t end)
    : device_(device), start_(start), end_(end), begin_(from), ahead_(from) {
  if (end - std::min(from, end) > kScanStepBytes) {
    queue_ = device.CreateQueue(kPieces);
    // The caller looks at one block of known zeros, and goes on behind them.
    if (device.KnownZeros(start + from, kScanStepBytes) == kScanStepBytes)
      next_bytes_ = device.geometry().block_size;
  }
  ReadAhead(1, true);
  Collect(0);
}

ZoneWindow::~ZoneWindow() = default;

ByteView ZoneWindow::From(std::uint64_t at, std::uint64_t needed) {
  ZENFS_ASSERT(begin_ <= at);
  const std::uint64_t wanted = at + RoundUp(needed, std::uint64_t{device_.geometry().block_size});
  while (window_end() < std::min(wanted, end_)) Extend(std::min(at, window_end()));
  if (at >= window_end()) return {};
  return buffer_.View(at - begin_, window_end() - at);
}

void ZoneWindow::Extend(std::uint64_t at) {
  const std::size_t ahead =
      std::exchange(extended_, true) ? kPieces : 1;  // until the caller has seen the first piece
  ReadAhead(ahead, true);
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
  piece.asked = false;
  oldest_ = (oldest_ + 1) % kPieces;
  if (ahead > 1) ReadAhead(kPieces, false);
  Collect(0);  // starts them
}

void ZoneWindow::ReadAhead(std::size_t count, bool wants) {
  for (std::size_t i = 0; i < count; ++i) {
    Piece& piece = pieces_[(oldest_ + i) % kPieces];
    if (piece.asked) continue;
    const bool wanted = wants && i == 0;
    if (ahead_ >= end_) return;
    if (!wanted && device_.KnownZeros(start_ + ahead_, device_.geometry().block_size) != 0) return;
    StartRead(piece);
  }
}

void ZoneWindow::StartRead(Piece& piece) {
  const std::uint64_t bytes = WorthReading(device_, start_ + ahead_, std::min(next_bytes_, end_ - ahead_));
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
  piece.read = true;
  if (status.ok()) return;
  const ScanRead read =
      ReadBlocksOrZeros(device_, piece.request.offset, piece.bytes.Span(), UnreadableBlock::kRandom);
  if (read.zone_is_gone) end_ = std::min(end_, piece.begin + piece.bytes.size());
}

}  // namespace zenfs
