// How the requests of a queue become commands: entries of an io_uring, or system calls where there is no ring.
//
// Threads: any; an implementation has no state that changes.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/host/io_outcome.h"
#include "device/zoned_device.h"

struct io_uring_cqe;
struct io_uring_sqe;

namespace zenfs {

class RingCommands;

// Where the kernel finds the bytes of a request.
struct IoPlace {
  int fd = -1;
  std::uint64_t offset = 0;              // bytes from the start of the file or block device
  std::uint64_t longest = kLongestCall;  // bytes per command
  std::shared_ptr<const void> keep;  // keeps `fd` open until the request is done, if somebody may close it
  const RingCommands* commands = nullptr;  // nullptr: FileCommands
};

// A part of a request: what is left of it after `moved` bytes, at most `length`.
struct IoPart {
  const IoRequest& request;
  const IoPlace& place;
  std::uint64_t moved = 0;
  std::uint64_t length = 0;

  bool is_read() const { return request.kind == IoRequest::Kind::kRead; }
  std::uint64_t offset() const { return place.offset + moved; }
  ByteSpan read_into() const { return request.read_into.subspan(moved, length); }
  ByteView write_from() const { return request.write_from.subspan(moved, length); }
};

class RingCommands {
 public:
  virtual ~RingCommands() = default;

  // Fills the ring's entry for one command.
  virtual void Prepare(io_uring_sqe* entry, const IoPart& part) const = 0;
  // The outcome of that command. EINTR and EAGAIN: the caller sends it again.
  [[nodiscard]] virtual IoOutcome Outcome(const io_uring_cqe* entry, const IoPart& part) const = 0;
  // Executes all of `part` by system calls, in as many commands as needed.
  [[nodiscard]] virtual IoOutcome Run(const IoPart& part) const = 0;
};

// Reads and writes of a file or block device. There are no appends.
[[nodiscard]] const RingCommands& FileCommands();

}  // namespace zenfs
