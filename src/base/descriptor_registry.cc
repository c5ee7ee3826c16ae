#include "base/descriptor_registry.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace zenfs {
namespace {

constexpr int kLimit = 1 << 20;
constexpr int kWordBits = 64;
constexpr std::chrono::milliseconds kForkWait{100};
constexpr std::chrono::microseconds kForkPause{50};

// One bit for each descriptor. Unused pages take no memory.
std::atomic<std::uint64_t> registered[kLimit / kWordBits];
std::atomic<std::size_t> words_used{0};

// Number of threads inside a ForkBarrier, and inside fork(). Each side increments its own counter before it reads the
// other, so at least one of them waits. Not a mutex, because a mutex that is held during fork() can't be released in the
// child.
std::atomic<int> barriers{0};
std::atomic<int> forks{0};
thread_local int nested_barriers = 0;

std::uint64_t Bit(int fd) { return std::uint64_t{1} << (fd % kWordBits); }

// Waits for barriers for a limited time: a thread that hangs in open() must not block fork() forever.
void BeforeFork() {
  forks.fetch_add(1);
  const Deadline deadline = Deadline::After(kForkWait);
  while (barriers.load() != 0 && !deadline.Passed()) SleepUntil(SteadyNow() + kForkPause);
}

void AfterForkInParent() {
  forks.fetch_sub(1);
  forks.notify_all();
}

// Replaces `fd` with a descriptor that only keeps the number in use. Closes the old one first, because the process may have
// no free number. Returns false if `fd` is closed but not replaced.
bool ReplaceFirst(int fd) {
  close(fd);
  const int substitute = open("/", O_PATH | O_CLOEXEC);
  if (substitute < 0 || substitute == fd) return substitute == fd;
  const bool replaced = dup3(substitute, fd, O_CLOEXEC) == fd;
  close(substitute);
  return replaced;
}

// Uses async-signal-safe calls only, because other threads, which may have held locks, do not exist in the child. For the
// same reason the counters are reset.
void AfterForkInChild() {
  const int error = errno;
  forks.store(0);
  barriers.store(nested_barriers == 0 ? 0 : 1);
  int substitute = -1;
  const std::size_t words = words_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = registered[i].load(std::memory_order_relaxed);
    for (; word != 0; word &= word - 1) {
      const int fd = static_cast<int>(i) * kWordBits + __builtin_ctzll(word);
      if (substitute >= 0) {
        if (dup3(substitute, fd, O_CLOEXEC) != fd) close(fd);
      } else if (ReplaceFirst(fd)) {
        substitute = fd;
      }
    }
  }
  errno = error;
}

void RegisterHandlers() {
  static const int result = pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
  static_cast<void>(result);
}

}  // namespace

DescriptorRegistry::ForkBarrier::ForkBarrier() {
  RegisterHandlers();
  if (nested_barriers++ != 0) return;
  barriers.fetch_add(1);
  while (const int forking = forks.load()) {
    barriers.fetch_sub(1);
    forks.wait(forking);
    barriers.fetch_add(1);
  }
}

DescriptorRegistry::ForkBarrier::~ForkBarrier() {
  if (--nested_barriers == 0) barriers.fetch_sub(1);
}

void DescriptorRegistry::Add(int fd) {
  if (fd < 0 || fd >= kLimit) return;
  RegisterHandlers();
  const auto word = static_cast<std::size_t>(fd / kWordBits);
  registered[word].fetch_or(Bit(fd), std::memory_order_relaxed);
  std::size_t used = words_used.load(std::memory_order_relaxed);
  while (used <= word && !words_used.compare_exchange_weak(used, word + 1, std::memory_order_release)) {
  }
}

void DescriptorRegistry::Remove(int fd) {
  if (fd < 0 || fd >= kLimit) return;
  registered[fd / kWordBits].fetch_and(~Bit(fd), std::memory_order_relaxed);
}

}  // namespace zenfs
