// Registers file descriptors that a forked child must not keep.
//
// An exclusive open of a device and a lock by flock(2) last until all copies of the descriptor are closed. A child that
// does not call exec would keep them, and nobody could mount the device until the child ends. So before fork() returns in
// the child, each registered descriptor is replaced with one that fails every use (EBADF). Its number stays in use, so the
// object that owns it can still close it without closing another file.
//
// exec closes all registered descriptors (O_CLOEXEC). vfork() and posix_spawn() run no handlers, so nothing changes for
// them. A mapping holds the open file too: use MADV_DONTFORK.
//
// Threads: any.
#pragma once

namespace zenfs {

class DescriptorRegistry {
 public:
  // While one exists, fork() in other threads waits, for at most 100 ms. So no child inherits a descriptor between its
  // opening and its registration. May be nested.
  class ForkBarrier {
   public:
    ForkBarrier();
    ~ForkBarrier();
    ForkBarrier(const ForkBarrier&) = delete;
    ForkBarrier& operator=(const ForkBarrier&) = delete;
  };

  // Ignores negative descriptors, and those of 2^20 and above, which Linux does not use by default.
  static void Add(int fd);
  // Call this before closing `fd`; hold one ForkBarrier for both.
  static void Remove(int fd);
};

}  // namespace zenfs
