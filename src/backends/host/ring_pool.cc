#include "backends/host/ring_pool.h"

#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <tuple>

#include "backends/host/piece_cursor.h"
#include "base/assert.h"

namespace zenfs {
namespace {

constexpr unsigned kDepthMin = 32;  // a ring of this depth costs two pages; smaller ones save nothing

void Destroy(io_uring* ring) {
  io_uring_queue_exit(ring);
  delete ring;
}

// Returns 0, or -errno if the kernel refuses.
int MakeRing(unsigned depth, RingPool::Entries entries, io_uring*& made) {
  const unsigned size = entries == RingPool::Entries::kBig ? IORING_SETUP_SQE128 | IORING_SETUP_CQE32 : 0;
  auto ring = std::make_unique<io_uring>();
  // COOP_TASKRUN (Linux 5.19) saves the interrupt of a thread that will enter the kernel to reap
  // anyway. TASKRUN_FLAG tells a polling thread when it must enter.
  int error =
      io_uring_queue_init(depth, ring.get(), size | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
  if (error == -EINVAL) error = io_uring_queue_init(depth, ring.get(), size);
  if (error != 0) return error;
  // A forked child must not take the parent's completions. If the kernel refuses, nothing else is lost.
  std::ignore = io_uring_ring_dontfork(ring.get());
  made = ring.release();
  return 0;
}

// True if the resource is only temporarily short.
bool IsShortage(int error) {
  return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EAGAIN;
}

// Submits the one prepared command, waits for it and returns its result; nothing if the kernel does
// not accept it. An interrupted wait continues: the kernel uses the caller's buffer until the
// command completes.
std::optional<int> RunOne(io_uring* ring) {
  io_uring_cqe* cqe = nullptr;
  RingStall stall;
  while (io_uring_peek_cqe(ring, &cqe) != 0) {
    const int answer = io_uring_submit_and_wait(ring, 1);
    if (answer < 0 && !stall.TryAgain(answer) && io_uring_sq_ready(ring) != 0) return std::nullopt;
  }
  const int result = cqe->res;
  io_uring_cqe_seen(ring, cqe);
  return result;
}

io_uring* PrepareWrite(io_uring* ring, int fd, std::span<const iovec> pieces, std::uint64_t offset) {
  io_uring_prep_writev(io_uring_get_sqe(ring), fd, pieces.data(), static_cast<unsigned>(pieces.size()),
                       offset);
  return ring;
}

// Returns bytes or -errno, like a command.
int WriteOnce(int fd, std::span<const iovec> pieces, std::uint64_t offset) {
  const ssize_t n =
      ::pwritev2(fd, pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(offset), 0);
  return n < 0 ? -errno : static_cast<int>(n);
}

}  // namespace

bool RingStall::TryAgain(int answer) {
  constexpr std::chrono::milliseconds kPause{1};
  if (!until_) until_ = Deadline::After(kPatience);
  const bool passing = answer == -EINTR || answer == -EAGAIN || answer == -EBUSY || answer == -ENOMEM;
  // Pause even if the stall may be permanent: a caller that waits for accepted commands calls
  // again.
  if (answer != -EINTR) SleepUntil(SteadyNow() + kPause);
  return passing && !until_->Passed();
}

void RingPool::Return::operator()(io_uring* ring) const {
  if (ring != nullptr) pool_->TakeBack(ring);
}

RingPool::~RingPool() {
  ZENFS_ASSERT(lent_.load() == 0);
  MutexLock lock(mutex_);
  for (const Idle& idle : idle_) Destroy(idle.ring);
}

RingPool::Lease RingPool::Lent(io_uring* ring) {
  if (ring != nullptr) lent_.fetch_add(1);
  return Lease(ring, Return(this));
}

RingPool::Lease RingPool::Lend(std::size_t depth) {
  if (refused_.load(std::memory_order_relaxed)) return Lent(nullptr);
  const auto wanted =
      static_cast<unsigned>(std::min<std::size_t>(std::max<std::size_t>(depth, 1), kDepthMax));
  {
    MutexLock lock(mutex_);
    const auto fits =
        std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& i) { return i.depth >= wanted; });
    if (fits != idle_.rend()) {
      io_uring* const ring = fits->ring;
      idle_.erase(std::next(fits).base());
      return Lent(ring);
    }
  }
  io_uring* ring = nullptr;
  const int error = MakeRing(std::bit_ceil(std::max(wanted, kDepthMin)), entries_, ring);
  if (error != 0) refusal_.store(-error, std::memory_order_relaxed);
  if (error != 0 && !IsShortage(error)) refused_.store(true, std::memory_order_relaxed);
  return Lent(ring);
}

std::optional<std::string> RingPool::Refusal(std::string_view device) {
  if (forbidden_ || Lend(1) != nullptr) return std::nullopt;
  return fmt::format("{}: the kernel refuses io_uring ({}), so reads and writes are sent one at a time",
                     device, std::generic_category().message(refusal_.load(std::memory_order_relaxed)));
}

std::vector<std::string> WithRefusal(std::vector<std::string> notices, RingPool& rings,
                                     std::string_view device) {
  if (std::optional<std::string> refusal = rings.Refusal(device)) notices.push_back(*std::move(refusal));
  return notices;
}

void RingPool::TakeBack(io_uring* ring) {
  lent_.fetch_sub(1);
  if (io_uring_sq_ready(ring) != 0) {
    refused_.store(true, std::memory_order_relaxed);
  } else {
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
  RingPool::Lease ring = rings.Lend(1);
  IoOutcome outcome;
  PieceCursor cursor(pieces);
  RingStall stall;
  while (!cursor.AtEnd()) {
    if (ring == nullptr && rings.needed()) {
      outcome.os_errno = EAGAIN;
      return outcome;
    }
    const std::span<const iovec> next = cursor.Next(longest);
    const std::uint64_t to = offset + outcome.bytes;
    const std::optional<int> moved =
        ring == nullptr ? WriteOnce(fd, next, to) : RunOne(PrepareWrite(ring.get(), fd, next, to));
    if (!moved) {
      ring.reset();
      continue;
    }
    if ((*moved == -EINTR || *moved == -EAGAIN) && stall.TryAgain(*moved)) continue;
    if (*moved < 0) outcome.os_errno = -*moved;
    if (*moved <= 0) return outcome;
    outcome.bytes += static_cast<std::uint64_t>(*moved);
    cursor.Advance(static_cast<std::uint64_t>(*moved));
  }
  return outcome;
}

}  // namespace zenfs
