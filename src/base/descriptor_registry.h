// The descriptors that a child made by fork() must not keep.
//
// The claim on a device and a lock of flock(2) belong to the open file, and last until every copy of its descriptor is
// closed. A child that lives on without exec would keep them, so nobody could mount the device until it ends. So
// the child replaces each registered descriptor with one that refuses every use (EBADF), before fork() returns there.
// The number stays taken: the object that owned it in the parent can close it and hits nothing else.
//
// exec closes all of them (O_CLOEXEC). vfork() and posix_spawn() run no handlers, so they are as they are without this.
// A mapping holds the open file too: map with MADV_DONTFORK.
//
// Threads: any.
#pragma once

namespace zenfs {

class DescriptorRegistry {
 public:
  // Keeps fork() of other threads waiting while it lives, for a tenth of a second at most, so that no child gets a
  // descriptor between its opening and its registration. May be nested.
  class ForkBarrier {
   public:
    ForkBarrier();
    ~ForkBarrier();
    ForkBarrier(const ForkBarrier&) = delete;
    ForkBarrier& operator=(const ForkBarrier&) = delete;
  };

  // Does nothing if `fd` is negative. Descriptors of 2^20 and above are not registered; Linux gives none by default.
  static void Add(int fd);
  // Call this before closing `fd`, and both under one ForkBarrier.
  static void Remove(int fd);
};

}  // namespace zenfs
