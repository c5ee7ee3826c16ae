#include "backends/host/data_path.h"

#include <liburing.h>
#include <unistd.h>

#include <cerrno>

#include "backends/host/plain_io.h"

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

class NodePath final : public DataPath {
 public:
  NodePath(int fd, std::uint64_t longest) : fd_(fd), longest_(longest) {}

  IoOutcome Read(std::uint64_t offset, ByteSpan into) const override {
    return ReadPlainly(fd_, offset, into);
  }
  IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const override {
    return WritePlainly(fd_, offset, pieces, longest_);
  }
  CommandResult Flush() const override {
    // The kernel sends a flush only if the cache is volatile.
    return {.os_errno = ::fdatasync(fd_) == 0 ? 0 : errno};
  }
  IoPlace Place(std::uint64_t offset) const override {
    return {.fd = fd_, .offset = offset, .longest = longest_, .keep = {}};
  }

 private:
  const int fd_;
  const std::uint64_t longest_;
};

}  // namespace

const RingCommands& FileCommands() {
  static const ReadsAndWrites commands;
  return commands;
}

std::unique_ptr<DataPath> PathOfNode(int fd, std::uint64_t longest) {
  return std::make_unique<NodePath>(fd, longest);
}

}  // namespace zenfs
