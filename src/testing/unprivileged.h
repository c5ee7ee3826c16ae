// For tests of permissions: while an Unprivileged lives, this process is bound by the modes of files also if it was
// started by root. Restores root at its end; nothing to do for everybody else.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace zenfs {

class Unprivileged {
 public:
  Unprivileged() {
    if (was_root_ && ::seteuid(kNobody) != 0) std::abort();
  }
  ~Unprivileged() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  const bool was_root_ = ::geteuid() == 0;
};

}  // namespace zenfs
