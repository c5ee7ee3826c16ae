#include "backends/host/ring_pool.h"

#include <liburing.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "backends/host/piece_cursor.h"
#include "backends/host/plain_io.h"

namespace zenfs {
namespace {

constexpr unsigned kDepthMin = 32;  // a ring of this depth costs two pages; smaller ones save nothing

void Destroy(io_uring* ring) {
  io_uring_queue_exit(ring);
  delete ring;
}

// nullptr if the kernel refuses.
io_uring* MakeRing(unsigned depth) {
  auto ring = std::make_unique<io_uring>();
  // COOP_TASKRUN (Linux 5.19) spares the interrupt of a thread that will enter the kernel to reap anyway; the flag
  // tells a poll when it must.
  int error = io_uring_queue_init(depth, ring.get(), IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
  if (error == -EINVAL) error = io_uring_queue_init(depth, ring.get(), 0);
  return error == 0 ? ring.release() : nullptr;
}

// Sends the one command that was prepared, waits for it and returns its result. An interrupted wait goes on: the
// kernel has the caller's buffer until the command has ended.
int RunOne(io_uring* ring) {
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(ring, &cqe) != 0) io_uring_submit_and_wait(ring, 1);
  const int result = cqe->res;
  io_uring_cqe_seen(ring, cqe);
  return result;
}

}  // namespace

void RingPool::Return::operator()(io_uring* ring) const {
  if (ring != nullptr) pool_->TakeBack(ring);
}

RingPool::~RingPool() {
  MutexLock lock(mutex_);
  for (const Idle& idle : idle_) Destroy(idle.ring);
}

RingPool::Lease RingPool::Lend(std::size_t depth) {
  if (refused_.load(std::memory_order_relaxed)) return Lease(nullptr, Return(this));
  const auto wanted =
      static_cast<unsigned>(std::min<std::size_t>(std::max<std::size_t>(depth, 1), kDepthMax));
  {
    MutexLock lock(mutex_);
    const auto fits =
        std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& i) { return i.depth >= wanted; });
    if (fits != idle_.rend()) {
      io_uring* const ring = fits->ring;
      idle_.erase(std::next(fits).base());
      return Lease(ring, Return(this));
    }
  }
  io_uring* const ring = MakeRing(std::bit_ceil(std::max(wanted, kDepthMin)));
  if (ring == nullptr) refused_.store(true, std::memory_order_relaxed);
  return Lease(ring, Return(this));
}

void RingPool::TakeBack(io_uring* ring) {
  {
    MutexLock lock(mutex_);
    if (idle_.size() < kIdleLimit) {
      idle_.push_back({.ring = ring, .depth = ring->sq.ring_entries});
      return;
    }
  }
  Destroy(ring);
}

IoOutcome WriteByRing(RingPool& rings, int fd, std::uint64_t offset, std::span<const ByteView> pieces,
                      std::uint64_t longest) {
  const RingPool::Lease ring = rings.Lend(1);
  if (ring == nullptr) return WritePlainly(fd, offset, pieces, longest);
  IoOutcome outcome;
  PieceCursor cursor(pieces);
  while (!cursor.AtEnd()) {
    const std::span<const iovec> next = cursor.Next(longest);
    io_uring_sqe* const sqe = io_uring_get_sqe(ring.get());
    io_uring_prep_writev(sqe, fd, next.data(), static_cast<unsigned>(next.size()), offset + outcome.bytes);
    const int moved = RunOne(ring.get());
    if (moved == -EINTR || moved == -EAGAIN) continue;
    if (moved < 0) outcome.os_errno = -moved;
    if (moved <= 0) return outcome;
    outcome.bytes += static_cast<std::uint64_t>(moved);
    cursor.Advance(static_cast<std::uint64_t>(moved));
  }
  return outcome;
}

}  // namespace zenfs
