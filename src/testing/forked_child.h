// A child of fork() that does nothing and lives until this object is destroyed.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace zenfs {

class ForkedChild {
 public:
  ForkedChild() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  ~ForkedChild() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  bool alive() const { return pid_ > 0 && ::kill(pid_, 0) == 0; }

 private:
  const pid_t pid_;
};

}  // namespace zenfs
