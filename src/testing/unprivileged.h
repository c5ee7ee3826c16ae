// For tests of permissions: while an Unprivileged lives, file modes also apply to a process that
// was started by root. Restores root at its end. Does nothing for other users.
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
