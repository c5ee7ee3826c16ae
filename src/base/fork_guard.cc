#include "base/fork_guard.h"

#include <pthread.h>

namespace zenfs {

ForkGuard::ForkGuard() {
  static const int registered = pthread_atfork(nullptr, nullptr, &ForkGuard::Forked);
  static_cast<void>(registered);
  generation_ = current_.load(std::memory_order_relaxed);
}

}  // namespace zenfs
