// Which call to libc fails, in a page that the test and the command under the preload library share.
#pragma once

#include <atomic>
#include <cstdint>

namespace zenfs {

// What a call is about; a plan counts the calls of some kinds.
enum FaultKind : std::uint32_t {
  kOpenCalls = 1 << 0,    // open, openat, openat2, opendir
  kReadCalls = 1 << 1,    // read, pread, preadv2, copy_file_range
  kWriteCalls = 1 << 2,   // write, pwrite, pwritev2; not those to standard output and error
  kSpaceCalls = 1 << 3,   // ftruncate, fallocate
  kMapCalls = 1 << 4,     // mmap of a file, msync
  kSyncCalls = 1 << 5,    // fsync, fdatasync
  kNameCalls = 1 << 6,    // rename, unlink, mkdir, rmdir, link
  kLockCalls = 1 << 7,    // flock, fcntl of locks
  kLookCalls = 1 << 8,    // stat, statfs, readdir, access
  kThreadCalls = 1 << 9,  // pthread_create
  kFileCalls = (1 << 9) - 1,
};

inline constexpr const char* kFaultPlanVariable = "ZENFS_FAULT_PLAN";  // names the file of the page

struct FaultPlan {
  std::atomic<std::uint32_t> kinds;   // bits of FaultKind
  std::atomic<int> error;             // errno of the calls that fail
  std::atomic<std::uint64_t> first;   // number, from 1, of the first call that fails; 0: none fails
  std::atomic<std::uint64_t> times;   // so many fail
  std::atomic<std::uint64_t> calls;   // counted so far
  std::atomic<std::uint64_t> failed;  // of these
  char name[32];                      // of the first that failed
};

}  // namespace zenfs
