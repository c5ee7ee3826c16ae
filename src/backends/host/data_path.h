// How bytes reach a device of the kernel: by reads and writes of its node, or by commands of its driver; in a queue as entries
// of an io_uring, or as system calls where there is no ring.
//
// Units: bytes; offsets count from the start of the device. Threads: safe from any thread; no state that changes.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>

#include "backends/host/plain_io.h"
#include "base/bytes.h"
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

// How the requests of a queue become commands.
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

// The way of data to a device.
class DataPath {
 public:
  virtual ~DataPath() = default;

  [[nodiscard]] virtual IoOutcome Read(std::uint64_t offset, ByteSpan into) const = 0;
  // Writes the pieces contiguously. Each command is sent after the previous one has completed.
  [[nodiscard]] virtual IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const = 0;
  [[nodiscard]] virtual CommandResult Flush() const = 0;
  // One command that copies inside the device. The kernel has no call for it.
  [[nodiscard]] virtual CommandResult Copy(std::uint64_t /*from*/, std::uint64_t /*to*/,
                                           std::uint64_t /*length*/) const {
    return {.os_errno = EOPNOTSUPP};
  }
  // Where a queue finds the bytes at `offset`.
  [[nodiscard]] virtual IoPlace Place(std::uint64_t offset) const = 0;
};

// Zone appends. `zone`: the start of a zone.
class AppendPath {
 public:
  virtual ~AppendPath() = default;

  [[nodiscard]] virtual std::uint64_t longest_append() const = 0;
  // One command. IoOutcome::place: where the device put the bytes.
  [[nodiscard]] virtual IoOutcome Append(std::uint64_t zone, ByteView bytes) const = 0;
  [[nodiscard]] virtual IoPlace AppendPlace(std::uint64_t zone) const = 0;
};

// The path through a block device's node: O_DIRECT reads and writes. `fd` must stay open. `longest`: bytes that the kernel does not split.
[[nodiscard]] std::unique_ptr<DataPath> PathOfNode(int fd, std::uint64_t longest);

}  // namespace zenfs
