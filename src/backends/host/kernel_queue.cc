#include "backends/host/kernel_queue.h"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

namespace zenfs {
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
  RingPool::Lease ring = rings.Lend(flights);
  if (ring == nullptr) return std::make_unique<PlainQueue>(target, rings);
  return std::make_unique<RingQueue>(target, rings, std::move(ring), flights);
}

}  // namespace zenfs
