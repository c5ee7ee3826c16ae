#include "backends/host/ring_commands.h"

#include <liburing.h>

#include "backends/host/plain_io.h"
#include "base/assert.h"

namespace zenfs {
namespace {

class ReadsAndWrites final : public RingCommands {
 public:
  void Prepare(io_uring_sqe* entry, const IoPart& part) const override {
    const auto length = static_cast<unsigned>(part.length);
    if (part.is_read()) {
      io_uring_prep_read(entry, part.place.fd, part.read_into().data(), length, part.offset());
    } else {
      io_uring_prep_write(entry, part.place.fd, part.write_from().data(), length, part.offset());
    }
  }
  IoOutcome Outcome(const io_uring_cqe* entry, const IoPart&) const override {
    if (entry->res < 0) return {.bytes = 0, .os_errno = -entry->res};
    return {.bytes = static_cast<std::uint64_t>(entry->res), .os_errno = 0};
  }
  IoOutcome Run(const IoPart& part) const override {
    if (part.is_read()) return ReadPlainly(part.place.fd, part.offset(), part.read_into());
    const ByteView bytes = part.write_from();
    return WritePlainly(part.place.fd, part.offset(), std::span(&bytes, 1), part.place.longest);
  }
};

}  // namespace

const RingCommands& FileCommands() {
  static const ReadsAndWrites commands;
  return commands;
}

}  // namespace zenfs
