// A file descriptor that closes itself. It belongs to the process that opened it: children made by fork() get a
// descriptor in its place that refuses every use (base/descriptor_registry.h).
#pragma once

#include <unistd.h>

#include <utility>

#include "base/descriptor_registry.h"

namespace zenfs {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) { DescriptorRegistry::Add(fd); }
  // Owns what `open` returns: a descriptor, or -1 with errno set, which is kept. No fork() takes place between the opening
  // and the registration; open devices and locked files by this.
  template <typename Open>
  [[nodiscard]] static UniqueFd Opened(const Open& open) {
    const DescriptorRegistry::ForkBarrier barrier;
    return UniqueFd(open());
  }
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
