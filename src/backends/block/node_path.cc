#include "backends/block/node_path.h"

#include <unistd.h>

#include <cerrno>

#include "backends/host/plain_io.h"

namespace zenfs {
namespace {

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

std::unique_ptr<DataPath> PathOfNode(int fd, std::uint64_t longest) {
  return std::make_unique<NodePath>(fd, longest);
}

}  // namespace zenfs
