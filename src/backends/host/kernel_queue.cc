#include "backends/host/kernel_queue.h"

#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <deque>
#include <system_error>
#include <tuple>
#include <utility>

#include "backends/host/plain_io.h"
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

// Submits the `prepared` commands, waits for all of them and returns the result of the last one, which alone has data; nothing
// if the kernel does not accept that. An interrupted wait continues: the kernel uses the caller's buffer until the
// command completes.
std::optional<int> RunPrepared(io_uring* ring, unsigned prepared) {
  int result = 0;
  RingStall stall;
  while (prepared != 0) {
    io_uring_cqe* cqe = nullptr;
    if (io_uring_peek_cqe(ring, &cqe) == 0) {
      if (io_uring_cqe_get_data(cqe) != nullptr) result = cqe->res;
      io_uring_cqe_seen(ring, cqe);
      --prepared;
      continue;
    }
    const int answer = io_uring_submit_and_wait(ring, prepared);
    if (answer < 0 && !stall.TryAgain(answer) && io_uring_sq_ready(ring) != 0) return std::nullopt;
  }
  return result;
}

std::optional<int> WriteInRing(io_uring* ring, int fd, std::span<const iovec> pieces, std::uint64_t offset) {
  io_uring_sqe* const entry = io_uring_get_sqe(ring);
  io_uring_prep_writev(entry, fd, pieces.data(), static_cast<unsigned>(pieces.size()), offset);
  io_uring_sqe_set_data(entry, ring);
  return RunPrepared(ring, 1);
}

// The kernel plugs the block device for a submission of more than two entries (IO_PLUG_THRESHOLD), so two of them do nothing.
constexpr unsigned kPluggedEntries = 3;

std::optional<int> ReadPlugged(io_uring* ring, int fd, ByteSpan into, std::uint64_t offset) {
  for (unsigned i = 1; i < kPluggedEntries; ++i) {
    io_uring_sqe* const nothing = io_uring_get_sqe(ring);
    io_uring_prep_nop(nothing);
    io_uring_sqe_set_data(nothing, nullptr);
  }
  io_uring_sqe* const entry = io_uring_get_sqe(ring);
  io_uring_prep_read(entry, fd, into.data(), static_cast<unsigned>(into.size()), offset);
  io_uring_sqe_set_data(entry, ring);
  return RunPrepared(ring, kPluggedEntries);
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

void RingPool::Releaser::operator()(io_uring* ring) const {
  if (ring != nullptr) pool_->Release(ring);
}

RingPool::~RingPool() {
  ZENFS_ASSERT(leased_.load() == 0);
  MutexLock lock(mutex_);
  for (const Idle& idle : idle_) Destroy(idle.ring);
}

RingPool::Lease RingPool::Leased(io_uring* ring) {
  if (ring != nullptr) leased_.fetch_add(1);
  return Lease(ring, Releaser(this));
}

RingPool::Lease RingPool::Acquire(std::size_t depth) {
  if (refused_.load(std::memory_order_relaxed)) return Leased(nullptr);
  const auto wanted =
      static_cast<unsigned>(std::min<std::size_t>(std::max<std::size_t>(depth, 1), kDepthMax));
  {
    MutexLock lock(mutex_);
    const auto fits =
        std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& i) { return i.depth >= wanted; });
    if (fits != idle_.rend()) {
      io_uring* const ring = fits->ring;
      idle_.erase(std::next(fits).base());
      return Leased(ring);
    }
  }
  io_uring* ring = nullptr;
  const int error = MakeRing(std::bit_ceil(std::max(wanted, kDepthMin)), entries_, ring);
  if (error != 0) refusal_.store(-error, std::memory_order_relaxed);
  if (error != 0 && !IsShortage(error)) refused_.store(true, std::memory_order_relaxed);
  return Leased(ring);
}

std::optional<std::string> RingPool::Refusal(std::string_view device) {
  if (forbidden_ || Acquire(1) != nullptr) return std::nullopt;
  return fmt::format("{}: the kernel refuses io_uring ({}), so reads and writes are sent one at a time",
                     device, std::generic_category().message(refusal_.load(std::memory_order_relaxed)));
}

std::vector<std::string> WithRefusal(std::vector<std::string> notices, RingPool& rings,
                                     std::string_view device) {
  if (std::optional<std::string> refusal = rings.Refusal(device)) notices.push_back(*std::move(refusal));
  return notices;
}

void RingPool::Release(io_uring* ring) {
  leased_.fetch_sub(1);
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
  RingPool::Lease ring = rings.Acquire(1);
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
        ring == nullptr ? WriteOnce(fd, next, to) : WriteInRing(ring.get(), fd, next, to);
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

IoOutcome ReadByRing(RingPool& rings, int fd, std::uint64_t offset, ByteSpan into) {
  RingPool::Lease ring = rings.Acquire(kPluggedEntries);
  IoOutcome outcome;
  RingStall stall;
  while (ring != nullptr && outcome.bytes < into.size()) {
    const ByteSpan rest = into.subspan(outcome.bytes);
    const std::optional<int> moved =
        ReadPlugged(ring.get(), fd, rest.first(std::min<std::uint64_t>(rest.size(), kLongestCall)),
                    offset + outcome.bytes);
    if (!moved) {
      ring.reset();
      break;
    }
    if ((*moved == -EINTR || *moved == -EAGAIN) && stall.TryAgain(*moved)) continue;
    if (*moved < 0) outcome.os_errno = -*moved;
    if (*moved <= 0) return outcome;
    outcome.bytes += static_cast<std::uint64_t>(*moved);
  }
  if (outcome.bytes == into.size()) return outcome;
  IoOutcome rest = ReadPlainly(fd, offset + outcome.bytes, into.subspan(outcome.bytes));
  rest.bytes += outcome.bytes;
  return rest;
}

namespace {

bool IsRead(const IoRequest& request) { return request.kind == IoRequest::Kind::kRead; }

std::uint64_t Length(const IoRequest& request) {
  return IsRead(request) ? request.read_into.size() : request.write_from.size();
}

const RingCommands& CommandsOf(const IoPlace& place) {
  return place.commands == nullptr ? FileCommands() : *place.commands;
}

// Executes the rest of `request` after `moved` bytes, by system calls.
IoOutcome RunPlainly(const IoRequest& request, const IoPlace& place, std::uint64_t moved,
                     const RingPool& rings) {
  IoOutcome rest;
  if (!IsRead(request) && rings.needed()) {
    rest.os_errno = EAGAIN;
  } else {
    rest = CommandsOf(place).Run(
        {.request = request, .place = place, .moved = moved, .length = Length(request) - moved});
  }
  rest.bytes += moved;
  return rest;
}

void Settle(IoTarget& target, IoRequest& request, const IoOutcome& outcome) {
  request.status = target.Settle(request, outcome);
  if (request.status.ok() && request.kind == IoRequest::Kind::kAppend)
    request.placed_at = DeviceOffset(outcome.place);
}

// A queue without a ring: a command is complete when Submit returns.
class PlainQueue final : public IoQueue {
 public:
  PlainQueue(IoTarget& target, const RingPool& rings) : target_(target), rings_(rings) {}

  void Submit(IoRequest* request) override {
    const Result<IoPlace> place = target_.Place(*request);
    if (place) {
      Settle(target_, *request, RunPlainly(*request, *place, 0, rings_));
    } else {
      request->status = Fail(place.error());
    }
    done_.push_back(request);
  }
  void Reap(std::size_t, std::vector<IoRequest*>& done) override {
    done.insert(done.end(), done_.begin(), done_.end());
    done_.clear();
  }
  std::size_t in_flight() const override { return done_.size(); }
  bool overlaps() const override { return false; }

 private:
  IoTarget& target_;
  const RingPool& rings_;
  std::vector<IoRequest*> done_;
};

// A command in flight in the ring. A short one is submitted again for the rest.
struct Flight {
  IoRequest* request;
  IoPlace place;
  std::uint64_t moved = 0;
  RingStall stall;
};

class RingQueue final : public IoQueue {
 public:
  RingQueue(IoTarget& target, const RingPool& rings, RingPool::Lease ring, std::size_t depth)
      : target_(target), rings_(rings), ring_(std::move(ring)), flights_(depth) {
    for (Flight& flight : flights_) free_.push_back(&flight);
  }
  ~RingQueue() override {
    std::vector<IoRequest*> done;
    while (in_flight_ != 0) Reap(in_flight_, done);
  }

  void Submit(IoRequest* request) override {
    ++in_flight_;
    if (free_.empty()) {
      waiting_.push_back(request);
      return;
    }
    Start(request);
  }

  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    const std::size_t wanted = std::min(min_count, in_flight_);
    std::size_t count = Deliver(done);
    bool entered = false;
    while (count < wanted || !entered) {
      Enter(count < wanted ? wanted - count : 0);
      entered = true;
      io_uring_cqe* cqe = nullptr;
      while (io_uring_peek_cqe(ring_.get(), &cqe) == 0) {
        Flight* const flight = static_cast<Flight*>(io_uring_cqe_get_data(cqe));
        const IoOutcome outcome = CommandsOf(flight->place).Outcome(cqe, NextPart(*flight));
        io_uring_cqe_seen(ring_.get(), cqe);
        Land(flight, outcome);
      }
      count += Deliver(done);
    }
  }

  std::size_t in_flight() const override { return in_flight_; }

 private:
  // Starts the submitted commands and waits until at least `min` commands in flight have completed.
  void Enter(std::size_t min) {
    const std::size_t under_way = flights_.size() - free_.size();
    if (under_way == 0) return;
    const int answer = io_uring_submit_and_wait(ring_.get(), static_cast<unsigned>(std::min(min, under_way)));
    while (!prepared_.empty() && prepared_.size() > io_uring_sq_ready(ring_.get())) prepared_.pop_front();
    if (answer >= 0) {
      stall_ = {};
    } else if (!stall_.TryAgain(answer)) {
      GoOnPlainly();
    }
  }

  // The kernel accepts no more entries from the ring. The commands that it has taken will complete;
  // the others are executed by system calls.
  void GoOnPlainly() {
    if (prepared_.empty()) return;
    broken_ = true;
    for (Flight* const flight : std::exchange(prepared_, {})) {
      End(flight, RunPlainly(*flight->request, flight->place, flight->moved, rings_));
    }
  }

  void Start(IoRequest* request) {
    Result<IoPlace> place = target_.Place(*request);
    if (!place) {
      request->status = Fail(place.error());
      done_.push_back(request);
      return;
    }
    Flight* const flight = free_.back();
    free_.pop_back();
    *flight = {.request = request, .place = std::move(*place), .stall = {}};
    Prepare(flight);
  }

  // An entry is always free: the ring has at least as many entries as there are flights.
  void Prepare(Flight* flight) {
    if (broken_) return End(flight, RunPlainly(*flight->request, flight->place, flight->moved, rings_));
    io_uring_sqe* const sqe = io_uring_get_sqe(ring_.get());
    CommandsOf(flight->place).Prepare(sqe, NextPart(*flight));
    io_uring_sqe_set_data(sqe, flight);
    prepared_.push_back(flight);
  }

  static IoPart NextPart(const Flight& flight) {
    return {.request = *flight.request,
            .place = flight.place,
            .moved = flight.moved,
            .length = std::min(Length(*flight.request) - flight.moved, flight.place.longest)};
  }

  void Land(Flight* flight, IoOutcome outcome) {
    flight->moved += outcome.bytes;
    const bool again = outcome.os_errno == EINTR || outcome.os_errno == EAGAIN;
    if (again && flight->stall.TryAgain(-outcome.os_errno)) return Prepare(flight);
    if (outcome.os_errno == 0 && outcome.bytes != 0 && flight->moved < Length(*flight->request))
      return Prepare(flight);
    outcome.bytes = flight->moved;
    End(flight, outcome);
  }

  void End(Flight* flight, const IoOutcome& outcome) {
    IoRequest* const request = flight->request;
    Settle(target_, *request, outcome);
    flight->place = {};
    free_.push_back(flight);
    done_.push_back(request);
    while (!waiting_.empty() && !free_.empty()) {
      IoRequest* const next = waiting_.front();
      waiting_.pop_front();
      Start(next);
    }
  }

  std::size_t Deliver(std::vector<IoRequest*>& done) {
    const std::size_t count = done_.size();
    done.insert(done.end(), done_.begin(), done_.end());
    done_.clear();
    in_flight_ -= count;
    return count;
  }

  IoTarget& target_;
  const RingPool& rings_;
  const RingPool::Lease ring_;
  std::vector<Flight> flights_;
  std::vector<Flight*> free_;
  std::deque<Flight*> prepared_;    // in the ring, not yet taken by the kernel
  RingStall stall_;                 // used by Enter
  bool broken_ = false;             // the kernel accepts no entries from the ring
  std::deque<IoRequest*> waiting_;  // requests for which the ring has no room yet
  std::vector<IoRequest*> done_;    // completed and not yet reaped
  std::size_t in_flight_ = 0;
};

}  // namespace

std::unique_ptr<IoQueue> CreateKernelQueue(IoTarget& target, RingPool& rings, std::size_t depth) {
  const std::size_t flights = std::clamp<std::size_t>(depth, 1, RingPool::kDepthMax);
  RingPool::Lease ring = rings.Acquire(flights);
  if (ring == nullptr) return std::make_unique<PlainQueue>(target, rings);
  return std::make_unique<RingQueue>(target, rings, std::move(ring), flights);
}

}  // namespace zenfs
