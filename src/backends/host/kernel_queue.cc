#include "backends/host/kernel_queue.h"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "backends/host/plain_io.h"

namespace zenfs {
namespace {

bool IsRead(const IoRequest& request) { return request.kind == IoRequest::Kind::kRead; }

std::uint64_t Length(const IoRequest& request) {
  return IsRead(request) ? request.read_into.size() : request.write_from.size();
}

// Without a ring: a command is done when Submit returns.
class PlainQueue final : public IoQueue {
 public:
  explicit PlainQueue(IoTarget& target) : target_(target) {}

  void Submit(IoRequest* request) override {
    const Result<IoPlace> place = target_.Place(*request);
    request->status = place ? target_.Settle(*request, Run(*request, *place)) : Fail(place.error());
    done_.push_back(request);
  }
  void Reap(std::size_t, std::vector<IoRequest*>& done) override {
    done.insert(done.end(), done_.begin(), done_.end());
    done_.clear();
  }
  std::size_t in_flight() const override { return done_.size(); }

 private:
  static IoOutcome Run(const IoRequest& request, const IoPlace& place) {
    if (IsRead(request)) return ReadPlainly(place.fd, place.offset, request.read_into);
    return WritePlainly(place.fd, place.offset, std::span(&request.write_from, 1), place.longest);
  }

  IoTarget& target_;
  std::vector<IoRequest*> done_;
};

// A command on its way through the ring; short ones go round again for the rest.
struct Flight {
  IoRequest* request;
  IoPlace place;
  std::uint64_t moved = 0;
};

class RingQueue final : public IoQueue {
 public:
  RingQueue(IoTarget& target, RingPool::Lease ring, std::size_t depth)
      : target_(target), ring_(std::move(ring)), flights_(depth) {
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
        const int result = cqe->res;
        io_uring_cqe_seen(ring_.get(), cqe);
        Land(flight, result);
      }
      count += Deliver(done);
    }
  }

  std::size_t in_flight() const override { return in_flight_; }

 private:
  // Starts what was submitted and waits until `min` of those under way have ended.
  void Enter(std::size_t min) {
    const std::size_t under_way = flights_.size() - free_.size();
    if (under_way == 0) return;
    // Interrupted, or the kernel is short of memory for a moment: what did not go stays in the ring for the next time.
    io_uring_submit_and_wait(ring_.get(), static_cast<unsigned>(std::min(min, under_way)));
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
    *flight = {.request = request, .place = std::move(*place)};
    Prepare(flight);
  }

  // There is always an entry free: the ring is at least as deep as there are flights.
  void Prepare(Flight* flight) {
    const IoRequest& request = *flight->request;
    const auto length =
        static_cast<unsigned>(std::min(Length(request) - flight->moved, flight->place.longest));
    const std::uint64_t offset = flight->place.offset + flight->moved;
    io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
    if (IsRead(request)) {
      io_uring_prep_read(sqe, flight->place.fd, request.read_into.data() + flight->moved, length, offset);
    } else {
      io_uring_prep_write(sqe, flight->place.fd, request.write_from.data() + flight->moved, length, offset);
    }
    io_uring_sqe_set_data(sqe, flight);
  }

  void Land(Flight* flight, int result) {
    if (result > 0) flight->moved += static_cast<std::uint64_t>(result);
    const bool again =
        result == -EINTR || result == -EAGAIN || (result > 0 && flight->moved < Length(*flight->request));
    if (again) {
      Prepare(flight);
      return;
    }
    IoRequest* const request = flight->request;
    request->status =
        target_.Settle(*request, {.bytes = flight->moved, .os_errno = result < 0 ? -result : 0});
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
  const RingPool::Lease ring_;
  std::vector<Flight> flights_;
  std::vector<Flight*> free_;
  std::deque<IoRequest*> waiting_;  // more than the ring takes at once
  std::vector<IoRequest*> done_;    // ended and not yet reaped
  std::size_t in_flight_ = 0;
};

}  // namespace

std::unique_ptr<IoQueue> CreateKernelQueue(IoTarget& target, RingPool& rings, std::size_t depth) {
  const std::size_t flights = std::clamp<std::size_t>(depth, 1, RingPool::kDepthMax);
  RingPool::Lease ring = rings.Lend(flights);
  if (ring == nullptr) return std::make_unique<PlainQueue>(target);
  return std::make_unique<RingQueue>(target, std::move(ring), flights);
}

}  // namespace zenfs
