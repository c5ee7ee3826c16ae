// A file descriptor that closes itself. Only the process that opened it can use it: in forked children every use fails
// (base/descriptor_registry.h).
#pragma once

#include <unistd.h>

#include <utility>

#include "base/descriptor_registry.h"

namespace zenfs {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) { DescriptorRegistry::Add(fd); }
  // Owns the descriptor that `open` returns, or -1; keeps errno. Prevents a fork() between the opening and the
  // registration; use it to open devices and files that are locked.
  template <typename Open>
  [[nodiscard]] static UniqueFd Opened(const Open& open) {
    const DescriptorRegistry::ForkBarrier barrier;
    return UniqueFd(open());
  }
  // Opens what `fd` is open on once more, with other `flags`; -1 keeps errno. `fd` may be of O_PATH: then its kind can be looked at before it
  // is opened, whoever may change the path, because to open a pipe or a device may wait or have effects.
  [[nodiscard]] static UniqueFd Reopened(int fd, int flags);
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ < 0) return;
    const DescriptorRegistry::ForkBarrier barrier;
    DescriptorRegistry::Remove(fd_);
    ::close(fd_);
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace zenfs
